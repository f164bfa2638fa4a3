import { MeshError, messageOf } from './errors.js';
import type { MeshFailure } from './frames.js';
import type { Member } from './member.js';
import { describeAddress, describeMembers } from './members.js';
import type { ResolvedOptions } from './options.js';

/** The last connection that was closed before its handshake was complete. */
export interface DroppedConnection {
  readonly error: unknown;
  readonly from: string;
}

/** Names the missing members, their addresses, and the last error of the attempts to reach each. */
export function joinTimeout(
  options: ResolvedOptions,
  connected: ReadonlySet<number>,
  ready: ReadonlySet<number>,
  lastErrors: ReadonlyMap<number, MeshError>,
  dropped: DroppedConnection | undefined,
): MeshError {
  const missing = [...options.peers.values()].filter(({ id }) => !connected.has(id));
  const waited = `member ${options.id} waited ${options.timeoutMs} ms`;
  if (missing.length === 0) return notReady(waited, options, ready);
  const listed = missing.slice(0, 16).map((member) => describeMissing(member, options.id, lastErrors));
  const rest = missing.length > 16 ? `; and ${missing.length - 16} more` : '';
  const inbound = dropped === undefined ? '' : `. Last connection dropped: ${messageOf(dropped.error)}`;
  const cause = dropped?.error ?? lastErrors.get(missing[0]!.id);
  return new MeshError(
    'ERR_RDMC_MESH_TIMEOUT',
    `${waited}, and did not connect to ${listed.join('; ')}${rest}${inbound}`,
    {
      cause,
      memberId: missing[0]!.id,
      missing: missing.map((member) => ({ ...member, lastError: lastErrors.get(member.id)?.message })),
    },
  );
}

function notReady(waited: string, options: ResolvedOptions, ready: ReadonlySet<number>): MeshError {
  const waiting: Member[] = [...options.peers.values()].filter(({ id }) => !ready.has(id));
  return new MeshError(
    'ERR_RDMC_MESH_TIMEOUT',
    `${waited}, and is connected to all members, but these are not: ${describeMembers(waiting)}; see their errors`,
    {
      missing: waiting.map((member) => ({
        ...member,
        lastError: 'connected to this member, but not to all members',
      })),
    },
  );
}

function describeMissing(member: Member, self: number, lastErrors: ReadonlyMap<number, MeshError>): string {
  const fallback = member.id > self ? 'it has not connected' : 'no attempt has ended';
  const trouble = lastErrors.get(member.id)?.message ?? fallback;
  return `member ${member.id} at ${describeAddress(member)} (${trouble})`;
}

export function lostWhileForming({ member, reason }: MeshFailure): MeshError {
  return new MeshError(
    'ERR_RDMC_MESH_MEMBER_LOST',
    `member ${member} was lost while the mesh was forming: ${reason}; join again at all members`,
    { memberId: member },
  );
}

export function closedError(): MeshError {
  return new MeshError('ERR_RDMC_MESH_CLOSED', 'this mesh is closed; join again for a new one');
}

/** The error of a member without a link. */
export function unreachableMember(
  member: unknown,
  options: ResolvedOptions,
  failed: ReadonlyMap<number, MeshFailure>,
  left: ReadonlyMap<number, number>,
): MeshError {
  const id = member as number;
  const failure = failed.get(id);
  if (failure !== undefined) {
    const text = `member ${id} is lost (${failure.code}, seen by member ${failure.reporter}): ${failure.reason}`;
    return new MeshError('ERR_RDMC_MESH_MEMBER_LOST', text, { memberId: id });
  }
  if (left.has(id)) {
    return new MeshError('ERR_RDMC_MESH_MEMBER_LEFT', `member ${id} has left the mesh`, { memberId: id });
  }
  const ids = [...options.members].slice(0, 16).map((each) => each.id);
  return new MeshError(
    'ERR_RDMC_MESH_INVALID_ARGUMENT',
    `member ${String(member)} is not another member of this mesh, which has ${ids.join(', ')}${options.members.length > 16 ? ', …' : ''}`,
  );
}
