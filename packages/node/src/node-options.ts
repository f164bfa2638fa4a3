import { optionChecks } from '@rdmc/common';
import type { TraceFile } from '@rdmc/dataplane/trace';
import type { LiveMeshOptions, MeshAttributes, MeshOptions } from '@rdmc/mesh';
import { liveOptionNames, meshOptionNames } from '@rdmc/mesh/internal';
import type { OpenDeviceOptions } from '@rdmc/verbs';
import { NodeError } from './errors.js';
import type { AnyProtocol, NodeLogger, Protocols } from './node-protocol.js';
import type { PreparedNode } from './prepared-node.js';

/** The options of a node beside those of its mesh. */
export interface OwnOptions {
  /** Announced to the other members; names that begin with `rdmc.` are taken. */
  readonly attributes?: MeshAttributes;
  /** The device: 'auto' (default), 'soft', or all options of `openDevice`. All members agree on one kind. */
  readonly device?: OpenDeviceOptions | string;
  /** How long the worker polls after work before it sleeps, in milliseconds (default: RDMC_WINDOW_MS, or 50; 0: never polls). */
  readonly windowMs?: number;
  /** Reports the chosen device and failures; default: none. */
  readonly logger?: NodeLogger | undefined;
  /**
   * Where the node's threads record what they do, such as the blocks of groups: see the entry `@rdmc/dataplane/trace`.
   * Default: no trace, which costs one check per block. Several nodes may share a file. Close it after them.
   */
  readonly trace?: TraceFile | undefined;
}

/** The options of a mesh with a fixed list of members, and those of the device and its worker. */
export interface NodeOptions extends OwnOptions, Omit<MeshOptions, 'attributes' | 'logger'> {}

/** The same where members come and go: `join` and `listen` in place of `members`. All members have devices of one kind. */
export interface LiveNodeOptions
  extends OwnOptions,
    Omit<LiveMeshOptions, 'attributes' | 'logger' | 'examine'> {}

/** The protocols of a node. */
export interface ProtocolsOption<Set extends Protocols> {
  /** The protocols of the node, at least one. A key is the name of the API at the node. */
  readonly protocols: Set;
}

/** The options of `Node.join`, with a fixed list of members. */
export interface JoinOptions<Set extends Protocols> extends NodeOptions, ProtocolsOption<Set> {}

/** The options of `Node.join` where members come and go. */
export interface LiveJoinOptions<Set extends Protocols> extends LiveNodeOptions, ProtocolsOption<Set> {}

/** The options of `Node.join` with a worker that `Node.prepare` has started: it has the protocols, and cannot be traced. */
export type PreparedJoinOptions<Set extends Protocols> = (
  | Omit<NodeOptions, 'windowMs' | 'trace'>
  | Omit<LiveNodeOptions, 'windowMs' | 'trace'>
) & {
  /** What `Node.prepare` has returned, which joins once. */
  readonly prepared: PreparedNode<Set>;
};

/** The options of `Node.join`. */
export type AnyJoinOptions<Set extends Protocols> =
  | JoinOptions<Set>
  | LiveJoinOptions<Set>
  | PreparedJoinOptions<Set>;

/** The options of `Node.prepare`. */
export interface PrepareOptions<Set extends Protocols>
  extends ProtocolsOption<Set>,
    Pick<OwnOptions, 'windowMs'> {}

const OWN = ['device', 'windowMs', 'protocols', 'trace'];
const OWN_PREPARED = ['device', 'prepared'];
const LIVE_NAMES = liveOptionNames.filter((name) => name !== 'examine');
const OWN_ATTRIBUTES = 'rdmc.';
const PROTOCOL_NAME = /^[A-Za-z0-9][A-Za-z0-9.-]*$/;

const { onlyKnownOptions, signalOption } = optionChecks((code, message) => new NodeError(code, message));

export { signalOption };

/**
 * @param where the name of the called function, for messages
 * @param taken whether a name cannot be that of an API
 * @throws NodeError ERR_RDMC_UNKNOWN_OPTION, ERR_RDMC_INVALID_OPTION, ERR_RDMC_DUPLICATE_PROTOCOL
 */
export function checkNodeOptions(
  where: string,
  options: AnyJoinOptions<Protocols>,
  taken: (name: string) => boolean,
): void {
  const live = isLive(options);
  if (live && 'members' in options) throw invalid(`${where}: members and join are given; omit one of them`);
  const prepared = isPrepared(options);
  const own = prepared ? OWN_PREPARED : OWN;
  onlyKnownOptions(where, options, [...(live ? LIVE_NAMES : meshOptionNames), ...own]);
  checkAttributes(where, options);
  if (!prepared) checkProtocols(where, options.protocols, taken);
}

/** @throws NodeError as `checkNodeOptions` */
export function checkPrepareOptions(
  where: string,
  options: PrepareOptions<Protocols>,
  taken: (name: string) => boolean,
): void {
  onlyKnownOptions(where, options, ['protocols', 'windowMs']);
  checkProtocols(where, options.protocols, taken);
}

function checkAttributes(where: string, options: Pick<OwnOptions, 'attributes'>): void {
  const own = Object.keys(options.attributes ?? {}).find((name) => name.startsWith(OWN_ATTRIBUTES));
  if (own !== undefined) {
    throw invalid(
      `${where}: attributes: '${own}' begins with '${OWN_ATTRIBUTES}', which is reserved; rename it`,
    );
  }
}

/** Whether its worker was started ahead. */
export function isPrepared<Set extends Protocols>(
  options: AnyJoinOptions<Set>,
): options is PreparedJoinOptions<Set> {
  return typeof options === 'object' && options !== null && 'prepared' in options;
}

/** Whether the members come and go. */
export function isLive(options: AnyJoinOptions<Protocols>): options is LiveJoinOptions<Protocols> {
  return typeof options === 'object' && options !== null && 'join' in options;
}

function checkProtocols(where: string, protocols: Protocols, taken: (name: string) => boolean): void {
  if (typeof protocols !== 'object' || protocols === null || Object.keys(protocols).length === 0) {
    throw invalid(`${where}: protocols must name at least one protocol, such as { groups: groups() }`);
  }
  const keys = new Map<string, string>();
  for (const [key, protocol] of Object.entries(protocols)) {
    if (taken(key))
      throw invalid(`${where}: protocols: '${key}' is a property of every node; use another key`);
    checkProtocol(where, key, protocol);
    const other = keys.get(protocol.name);
    if (other !== undefined) {
      throw new NodeError(
        'ERR_RDMC_DUPLICATE_PROTOCOL',
        `${where}: protocols: '${other}' and '${key}' are both '${protocol.name}'; a node runs a protocol once`,
        { field: protocol.name },
      );
    }
    keys.set(protocol.name, key);
  }
}

function checkProtocol(where: string, key: string, protocol: Partial<AnyProtocol> | undefined): void {
  const { name, version, records, worker, application } = protocol ?? {};
  const isWhole =
    typeof name === 'string' &&
    PROTOCOL_NAME.test(name) &&
    Number.isSafeInteger(version) &&
    typeof records === 'object' &&
    isWorker(worker) &&
    typeof application === 'function';
  if (isWhole) return;
  throw invalid(
    `${where}: protocols: '${key}' is not a protocol: it needs name, version, records, worker (a URL, or protocolWorker(…)) and application`,
  );
}

function isWorker(worker: unknown): boolean {
  return worker instanceof URL || typeof (worker as { start?: unknown } | undefined)?.start === 'function';
}

function invalid(message: string): NodeError {
  return new NodeError('ERR_RDMC_INVALID_OPTION', message);
}
