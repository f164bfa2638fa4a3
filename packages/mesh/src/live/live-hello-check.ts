import { MeshError } from '../errors.js';
import type { ForeignHello, Hello } from '../hello.js';
import { checkConnection, checkLevels, describeVersions, type HelloContext } from '../hello-check.js';
import { entryOf, type LiveHello } from './live-hello.js';
import type { Membership } from './membership.js';
import { verdictError } from './verdict-error.js';

export interface LiveHelloContext extends HelloContext {
  readonly clusterId: string;
  /** Undefined: this member has not been admitted yet. */
  readonly membership: Membership | undefined;
}

/** The error with which a caller is refused; undefined: it is accepted. */
export function checkLiveHello(
  hello: Hello | ForeignHello,
  from: string,
  context: LiveHelloContext,
): MeshError | undefined {
  const { options } = context;
  if (hello.from === undefined) {
    const who = `a connection from ${from}`;
    return new MeshError('ERR_RDMC_MESH_VERSION', describeVersions(who, hello.version, context.version));
  }
  const foreign = checkLevels(hello, from, options);
  if (foreign !== undefined) return foreign;
  const details = { memberId: hello.from };
  if (hello.live === undefined && hello.connection === undefined) {
    return new MeshError('ERR_RDMC_MESH_MEMBERS_DIFFER', membersDiffer(hello.from, options.id), details);
  }
  if (!hello.digest.equals(options.digest)) {
    const text = `member ${hello.from} (${from}) has another cluster id than member ${options.id}, which has '${context.clusterId}'`;
    return new MeshError('ERR_RDMC_MESH_OTHER_CLUSTER', text, details);
  }
  if (context.membership === undefined) {
    return new MeshError('ERR_RDMC_MESH_UNREACHABLE', `member ${options.id} is joining`, details);
  }
  if (hello.live?.isIntroduction) return undefined;
  if (hello.to !== options.id) {
    const text = `member ${options.id} listens at the address of member ${hello.to}`;
    return new MeshError('ERR_RDMC_MESH_WRONG_MEMBER', text, details);
  }
  if (hello.connection !== undefined) return checkConnection(hello, context);
  return judgeHello(hello, hello.live!, context.membership);
}

/** The error with which the sender of a HELLO is refused, the calling or the called one. */
export function judgeHello(hello: Hello, live: LiveHello, membership: Membership): MeshError | undefined {
  if (live.incarnation === 0) {
    return new MeshError('ERR_RDMC_MESH_UNREACHABLE', `member ${hello.from} is joining`);
  }
  const verdict = membership.judge(entryOf(hello, live), live.epoch);
  return verdict && verdictError(verdict, hello.from);
}

function membersDiffer(caller: number, self: number): string {
  return `member ${caller} has a fixed list of members, and those of the mesh of member ${self} come and go; give both \`members\`, or both \`join\``;
}
