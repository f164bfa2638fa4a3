import { commonLevel, levelsText } from '@rdmc/common';
import { MAX_CONNECTIONS_PER_MEMBER } from './constants.js';
import { MeshError, type MeshErrorCode, protocolError } from './errors.js';
import type { ForeignHello, Hello } from './hello.js';
import { describeMembers } from './members.js';
import type { ResolvedOptions } from './options.js';

/** The state that a caller's HELLO is checked against. */
export interface HelloContext {
  readonly options: ResolvedOptions;
  readonly version: number;
  /** Whether members can still be connected: no member was told that all are connected. */
  readonly gathering: boolean;
  /** The HELLO of the current connection with that member. */
  current(member: number): Hello | undefined;
  /** Whether that member may open a further connection. */
  hasRoom(member: number): boolean;
}

/** The error with which a caller is refused; undefined: it is accepted. */
export function checkHello(
  hello: Hello | ForeignHello,
  from: string,
  context: HelloContext,
): MeshError | undefined {
  const { options } = context;
  if (hello.from === undefined) {
    return new MeshError(
      'ERR_RDMC_MESH_VERSION',
      describeVersions(`a connection from ${from}`, hello.version, context.version),
    );
  }
  const foreign = checkLevels(hello, from, options);
  if (foreign !== undefined) return foreign;
  if (hello.live !== undefined) {
    return refusal(
      'ERR_RDMC_MESH_MEMBERS_DIFFER',
      hello.from,
      `member ${options.id} has a fixed list of members, and those of the mesh of member ${hello.from} come and go; ` +
        'give both `members`, or both `join`',
    );
  }
  if (!hello.digest.equals(options.digest)) {
    return refusal(
      'ERR_RDMC_MESH_MEMBERS_DIFFER',
      hello.from,
      `member ${hello.from} (${from}) and member ${options.id} were given different lists of members; ` +
        `member ${options.id} has ${options.members.length}: ${describeMembers(options.members)}`,
    );
  }
  if (hello.to !== options.id) {
    return refusal(
      'ERR_RDMC_MESH_WRONG_MEMBER',
      hello.from,
      `member ${options.id} listens at the address of member ${hello.to}`,
    );
  }
  if (hello.connection !== undefined) return checkConnection(hello, context);
  if (!options.peers.has(hello.from) || hello.from < options.id) {
    return protocolError(
      `member ${hello.from} connected to member ${options.id}; the member with the higher id connects`,
    );
  }
  return checkLink(hello, context);
}

/** Only the process that is the member in this mesh may open further connections as that member. */
export function checkConnection(
  hello: Hello,
  { options, current, hasRoom }: HelloContext,
): MeshError | undefined {
  const present = current(hello.from);
  if (present === undefined || !present.instance.equals(hello.instance)) {
    return refusal(
      'ERR_RDMC_MESH_MEMBER_LOST',
      hello.from,
      `the caller is not the member ${hello.from} that the mesh of member ${options.id} has`,
    );
  }
  if (hasRoom(hello.from)) return undefined;
  return refusal(
    'ERR_RDMC_MESH_TOO_MANY_CONNECTIONS',
    hello.from,
    `member ${hello.from} has ${MAX_CONNECTIONS_PER_MEMBER} connections open to member ${options.id}`,
  );
}

function checkLink(hello: Hello, { options, gathering, current }: HelloContext): MeshError | undefined {
  const present = current(hello.from);
  if (present === undefined) {
    if (gathering) return undefined;
    return refusal(
      'ERR_RDMC_MESH_ALREADY_FORMED',
      hello.from,
      `the mesh of member ${options.id} has formed, and has lost member ${hello.from}; close the mesh at all members, and join again`,
    );
  }
  // The same process again: its earlier connection is broken, and this member has not noticed yet.
  if (gathering && present.instance.equals(hello.instance)) return undefined;
  return refusal(
    'ERR_RDMC_MESH_DUPLICATE_MEMBER',
    hello.from,
    `another process is member ${hello.from}; give each process its own id`,
  );
}

/** The error of a connection whose ends have no common level. */
export function checkLevels(
  { from, levels }: Pick<Hello, 'from' | 'levels'>,
  where: string,
  own: Pick<ResolvedOptions, 'levels'>,
): MeshError | undefined {
  if (commonLevel(levels, own.levels) !== undefined) return undefined;
  return refusal(
    'ERR_RDMC_MESH_VERSION',
    from,
    `member ${from} (${where}) speaks ${levelsText(levels)}, this member ${levelsText(own.levels)}; ` +
      'members work together whose releases follow each other',
  );
}

export function describeVersions(who: string, theirs: number, ours: number): string {
  return (
    `${who} uses version ${theirs} of the mesh protocol, this member version ${ours}; these releases cannot be in one mesh: ` +
    'install one release of @rdmc/mesh everywhere'
  );
}

function refusal(code: MeshErrorCode, memberId: number, message: string): MeshError {
  return new MeshError(code, message, { memberId });
}
