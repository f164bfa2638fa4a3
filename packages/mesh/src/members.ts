import { createHash } from 'node:crypto';
import { isIP, isIPv4 } from 'node:net';
import { isWholeNumber } from '@rdmc/common';
import { ANY_MEMBER, MAX_HOST_CHARACTERS, MAX_MEMBER_ID, MAX_MEMBERS, MAX_PORT } from './constants.js';
import { invalidOption, MeshError } from './errors.js';
import type { Member } from './member.js';
import { integerOption, onlyKnownOptions, textOption } from './option-checks.js';

/** Checks a list and returns a frozen copy sorted by id. */
export function validateMembers(members: unknown): readonly Member[] {
  if (!Array.isArray(members) || members.length === 0) {
    throw invalidOption('members: a non-empty array of { id, host, port } is needed');
  }
  if (members.length > MAX_MEMBERS) {
    throw invalidOption(`members: found ${members.length}, needed at most ${MAX_MEMBERS}`);
  }
  const list = members.map((member, index) => validateMember(member, index));
  list.sort((a, b) => a.id - b.id);
  refuseDuplicates(list);
  return Object.freeze(list);
}

function validateMember(value: unknown, index: number): Member {
  const where = `members[${index}]`;
  onlyKnownOptions(where, value, ['id', 'host', 'port']);
  const { id, host, port } = value as Member;
  return Object.freeze({
    id: integerOption(where, 'id', id, 0, MAX_MEMBER_ID),
    host: textOption(where, 'host', host, MAX_HOST_CHARACTERS).toLowerCase(),
    // 0 cannot be told to others.
    port: integerOption(where, 'port', port, 1, MAX_PORT),
  });
}

export function isMemberId(value: unknown): value is number {
  return isWholeNumber(value, 0, MAX_MEMBER_ID);
}

function refuseDuplicates(sorted: readonly Member[]): void {
  const addresses = new Map<string, number>();
  let previous = -1;
  for (const member of sorted) {
    if (member.id === previous) {
      throw new MeshError('ERR_RDMC_MESH_DUPLICATE_MEMBER', `members: id ${member.id} is given twice`, {
        memberId: member.id,
      });
    }
    previous = member.id;
    const address = describeAddress(member);
    const other = addresses.get(address);
    if (other !== undefined) {
      throw new MeshError(
        'ERR_RDMC_MESH_DUPLICATE_MEMBER',
        `members: ${address} is given to both member ${other} and member ${member.id}`,
        { memberId: member.id },
      );
    }
    addresses.set(address, member.id);
  }
}

/** SHA-256 over the sorted list: equal exactly where two members were given the same members. */
export function membersDigest(sorted: readonly Member[]): Buffer {
  const text = JSON.stringify(sorted.map(({ id, host, port }) => [id, host, port]));
  return createHash('sha256').update(text).digest();
}

/** Equal exactly where two members were given the same cluster id. */
export function clusterDigest(clusterId: string): Buffer {
  return createHash('sha256').update(`rdmc cluster ${clusterId}`).digest();
}

/** An address of `join`: `host:port`, or `[address]:port`. */
export function parseContact(value: unknown, index: number): Member {
  const [, bracketed, plain, digits] =
    (typeof value === 'string' ? /^(?:\[([^\]]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(value) : null) ?? [];
  const host = bracketed ?? plain;
  const port = Number(digits);
  if (host === undefined || host.length > MAX_HOST_CHARACTERS || port < 1 || port > MAX_PORT) {
    throw invalidOption(`join[${index}]: found ${String(value)}, needed 'host:port' or '[address]:port'`);
  }
  return Object.freeze({ id: ANY_MEMBER, host: host.toLowerCase(), port });
}

/** `host:port`, with brackets around an IPv6 address. */
export function describeAddress({ host, port }: Pick<Member, 'host' | 'port'>): string {
  return isIP(host) === 6 ? `[${host}]:${port}` : `${host}:${port}`;
}

export function describeMember(member: Member): string {
  // In an introduction the id is not known.
  if (member.id === ANY_MEMBER) return `at ${describeAddress(member)}`;
  return `${member.id} (${describeAddress(member)})`;
}

/** A list for a message: the first eight, then a count. */
export function describeMembers(members: readonly Member[]): string {
  const shown = members.slice(0, 8).map(describeMember).join(', ');
  return members.length > 8 ? `${shown} and ${members.length - 8} more` : shown;
}

/** 127.0.0.0/8 in any spelling of IPv6, ::1, or the name localhost. */
export function isLoopbackHost(host: string): boolean {
  const name = host.toLowerCase();
  if (name === 'localhost' || name === '::1' || name === '0:0:0:0:0:0:0:1') return true;
  const address = name.startsWith('::ffff:') ? name.slice('::ffff:'.length) : name;
  return isIPv4(address) && address.startsWith('127.');
}
