import { randomBytes } from 'node:crypto';
import { Server } from 'node:net';
import { type Key, type Levels, type Logger, ownLevels } from '@rdmc/common';
import * as limits from './constants.js';
import { invalidOption, MeshError } from './errors.js';
import { type ClusterKey, chooseKey, validateInsecure } from './key.js';
import type { Member } from './member.js';
import {
  clusterDigest,
  describeMember,
  isLoopbackHost,
  membersDigest,
  parseContact,
  validateMembers,
} from './members.js';
import { booleanOption, integerOption, onlyKnownOptions, signalOption, textOption } from './option-checks.js';

/** Small facts that a member announces when it joins, for example the kind of its device. */
export type MeshAttributes = Readonly<Record<string, string | number | boolean | null>>;

/** The mesh's log. A pino logger fits. */
export type MeshLogger = Logger;

/** Options of every mesh. */
export interface CommonOptions {
  /** This member's id, from 0 to 2^31 − 1. */
  readonly id: number;
  /**
   * Cluster key of at least 16 bytes, text or bytes. Every connection is TLS 1.3 under it. Default: the key of the user
   * that runs this process (`userKey` of @rdmc/common), and then all members must be on loopback.
   */
  readonly key?: Key | undefined;
  /** How long `join` waits for all members, in milliseconds. Default 30,000. */
  readonly timeoutMs?: number | undefined;
  /** Interval of the heartbeats, in milliseconds. Default 2,000, or 10 for each member where that is more. */
  readonly heartbeatMs?: number | undefined;
  /**
   * A member has failed when it sent nothing for this long. Default 10,000, or 8,000 with `join`; 0: never; else at least 3
   * heartbeats. In a list of more than 16 members some members watch each one and tell the others.
   */
  readonly silenceTimeoutMs?: number | undefined;
  /**
   * Use no key, not the user's either, for measurements: every user of this machine can then read, forge and join.
   * Contradicts `key`. Default false.
   */
  readonly insecure?: boolean | undefined;
  /**
   * Without `key`: use no key, as with `insecure`, also beyond loopback. Every process on that network
   * can then read, forge and join. Default false.
   */
  readonly insecureListenBeyondLoopback?: boolean | undefined;
  /** Address to listen on, where it differs from this member's `host` (containers, NAT). */
  readonly listenHost?: string | undefined;
  /** A server that listens already, or an inherited listening descriptor. The mesh owns it from then on. */
  readonly server?: Server | { readonly fd: number } | undefined;
  /** Announced to every peer; at most 16 KiB as JSON. */
  readonly attributes?: MeshAttributes | undefined;
  /** Largest frame this member accepts, in bytes. Default 1 MiB. */
  readonly maxFrameBytes?: number | undefined;
  /** Bound of the bytes waiting for one peer's socket. Default 64 MiB. */
  readonly maxBufferedBytes?: number | undefined;
  /** Ends the wait of `join`. */
  readonly signal?: AbortSignal | undefined;
  /** Reports failed members and refused connections; default: none. */
  readonly logger?: MeshLogger | undefined;
}

/** A mesh with a fixed list of members. */
export interface MeshOptions extends CommonOptions {
  /** All members, this one included; the same list everywhere. */
  readonly members: readonly Member[];
}

/** A mesh whose members come and go. */
export interface LiveMeshOptions extends CommonOptions {
  /** Addresses of live members as `host:port`, `[address]:port` with IPv6. One that answers is enough. Empty: a new mesh begins. */
  readonly join: readonly string[];
  /** Where the others reach this member. Port 0: any free one. */
  readonly listen: { readonly host: string; readonly port: number };
  /** Only members with the same one are connected. Default: empty. */
  readonly clusterId?: string | undefined;
  /** A folder that keeps the last incarnation. It is created where it does not exist. */
  readonly directory?: string | undefined;
  /** Take the id also from a process that runs and has it: that one stops. Default false. */
  readonly replace?: boolean | undefined;
  /**
   * Called with the member that introduces this one, before any other member knows of this one. An error that it throws ends
   * the join. Default: every member is accepted.
   */
  readonly examine?: ((introducer: Introducer) => void) | undefined;
}

/** The member through which another one joins. */
export interface Introducer {
  /** Its id. */
  readonly id: number;
  /** What it announces to every peer. */
  readonly attributes: MeshAttributes;
}

/** Options after validation, with everything derived from them. */
export interface ResolvedOptions {
  readonly id: number;
  readonly self: Member;
  readonly members: readonly Member[];
  readonly peers: ReadonlyMap<number, Member>;
  /** Members that may connect from one source at once. */
  readonly expectedMembers: number;
  /** Of the list of members, or of the cluster id where they come and go. */
  readonly digest: Buffer;
  /** Distinguishes two processes with the same id from one process that connects again. */
  readonly instance: Buffer;
  /** Undefined: no key is used. */
  readonly key: ClusterKey | undefined;
  readonly timeoutMs: number;
  readonly heartbeatMs: number;
  readonly silenceTimeoutMs: number;
  readonly loopbackOnly: boolean;
  readonly listenHost: string;
  readonly server: Server | { readonly fd: number } | undefined;
  readonly attributes: MeshAttributes;
  /** That this process speaks. */
  readonly levels: Levels;
  readonly maxFrameBytes: number;
  readonly maxBufferedBytes: number;
  readonly signal: AbortSignal | undefined;
  readonly logger: MeshLogger;
}

/** All options of `Mesh.join`, for callers whose own options contain them. */
export const meshOptionNames: readonly (keyof MeshOptions)[] = [
  'id',
  'members',
  'key',
  'insecure',
  'timeoutMs',
  'heartbeatMs',
  'silenceTimeoutMs',
  'insecureListenBeyondLoopback',
  'listenHost',
  'server',
  'attributes',
  'maxFrameBytes',
  'maxBufferedBytes',
  'signal',
  'logger',
];

/** The same of a mesh whose members come and go. */
export const liveOptionNames: readonly (keyof LiveMeshOptions)[] = [
  ...meshOptionNames.filter((name) => name !== 'members').map((name) => name as keyof CommonOptions),
  'join',
  'listen',
  'clusterId',
  'directory',
  'replace',
  'examine',
];

const WHERE = 'Mesh.join';

/** Options of a mesh whose members come and go, after validation. */
export interface ResolvedLiveOptions extends ResolvedOptions {
  readonly peers: Map<number, Member>;
  readonly contacts: readonly Member[];
  readonly clusterId: string;
  readonly directory: string | undefined;
  readonly replace: boolean;
  readonly examine: ((introducer: Introducer) => void) | undefined;
}

export function resolveOptions(options: MeshOptions, levels?: Levels): ResolvedOptions {
  onlyKnownOptions(WHERE, options, meshOptionNames);
  const members = validateMembers(options.members);
  const self = findSelf(options.id, members);
  const common = resolveCommon(options, self, members, {
    heartbeatMs: Math.max(limits.DEFAULT_HEARTBEAT_MS, limits.HEARTBEAT_MS_PER_MEMBER * members.length),
    silenceTimeoutMs: limits.DEFAULT_SILENCE_TIMEOUT_MS,
  });
  return {
    ...common,
    ...(levels && { levels }),
    members,
    peers: new Map(members.filter((member) => member.id !== self.id).map((member) => [member.id, member])),
    expectedMembers: members.length,
    digest: membersDigest(members),
  };
}

export function resolveLiveOptions(options: LiveMeshOptions, levels?: Levels): ResolvedLiveOptions {
  onlyKnownOptions(WHERE, options, liveOptionNames);
  integerOption(WHERE, 'id', options.id, 0, limits.MAX_MEMBER_ID);
  onlyKnownOptions('listen', options.listen, ['host', 'port']);
  const self = Object.freeze({
    id: options.id,
    host: textOption(WHERE, 'listen.host', options.listen.host, limits.MAX_HOST_CHARACTERS).toLowerCase(),
    port: integerOption(WHERE, 'listen.port', options.listen.port, 0, limits.MAX_PORT),
  });
  if (!Array.isArray(options.join))
    throw invalidOption("join: needed an array of 'host:port'; [] begins a new mesh");
  const contacts = options.join.map((address, index) => parseContact(address, index));
  const common = resolveCommon(options, self, [self, ...contacts], {
    heartbeatMs: limits.DEFAULT_HEARTBEAT_MS,
    silenceTimeoutMs: limits.DEFAULT_LIVE_SILENCE_MS,
  });
  const clusterId = options.clusterId ?? '';
  if (typeof clusterId !== 'string' || clusterId.length > limits.MAX_CLUSTER_ID_CHARACTERS)
    throw invalidOption(`clusterId: needed text of at most ${limits.MAX_CLUSTER_ID_CHARACTERS} characters`);
  const { directory } = options;
  const peers = new Map<number, Member>();
  return {
    ...common,
    ...(levels && { levels }),
    peers,
    get members() {
      return [self, ...peers.values()];
    },
    contacts,
    clusterId,
    expectedMembers: limits.EXPECTED_LIVE_PEERS,
    digest: clusterDigest(clusterId),
    directory: directory === undefined ? undefined : textOption(WHERE, 'directory', directory),
    replace: booleanOption(WHERE, 'replace', options.replace ?? false),
    examine: validateExamine(options.examine),
  };
}

function validateExamine(examine: unknown): ResolvedLiveOptions['examine'] {
  if (examine === undefined || typeof examine === 'function')
    return examine as ResolvedLiveOptions['examine'];
  throw invalidOption('examine: needed a function');
}

interface Defaults {
  readonly heartbeatMs: number;
  readonly silenceTimeoutMs: number;
}

type CommonResolved = Omit<ResolvedOptions, 'members' | 'peers' | 'expectedMembers' | 'digest'>;

/** @param known the members whose addresses are given */
function resolveCommon(
  options: CommonOptions,
  self: Member,
  known: readonly Member[],
  defaults: Defaults,
): CommonResolved {
  const integer = (name: keyof CommonOptions, fallback: number, least: number, most: number): number =>
    integerOption(WHERE, name, options[name] ?? fallback, least, most);
  const heartbeatMs = integer('heartbeatMs', defaults.heartbeatMs, 1, limits.MAX_TIMER_MS);
  const listenHost = textOption(
    WHERE,
    'listenHost',
    options.listenHost ?? self.host,
    limits.MAX_HOST_CHARACTERS,
  );
  const insecure = validateInsecure(WHERE, options.insecure, options.key);
  const beyond = booleanOption(
    WHERE,
    'insecureListenBeyondLoopback',
    options.insecureListenBeyondLoopback ?? false,
  );
  const loopbackOnly = options.key === undefined && !beyond;
  if (loopbackOnly) requireLoopback(known, listenHost);
  return {
    id: self.id,
    self,
    instance: randomBytes(16),
    key: chooseKey(options.key, insecure || beyond),
    timeoutMs: integer('timeoutMs', limits.DEFAULT_TIMEOUT_MS, 1, limits.MAX_TIMER_MS),
    heartbeatMs,
    silenceTimeoutMs: validateSilence(options.silenceTimeoutMs, heartbeatMs, defaults.silenceTimeoutMs),
    loopbackOnly,
    listenHost,
    server: validateServer(options.server),
    attributes: validateAttributes(options.attributes ?? {}),
    levels: ownLevels(),
    maxFrameBytes: integer(
      'maxFrameBytes',
      limits.DEFAULT_MAX_FRAME_BYTES,
      limits.MIN_MAX_FRAME_BYTES,
      limits.MAX_MAX_FRAME_BYTES,
    ),
    maxBufferedBytes: integer(
      'maxBufferedBytes',
      limits.DEFAULT_MAX_BUFFERED_BYTES,
      1,
      Number.MAX_SAFE_INTEGER,
    ),
    signal: signalOption(WHERE, options.signal),
    logger: options.logger ?? {},
  };
}

function findSelf(id: unknown, members: readonly Member[]): Member {
  integerOption(WHERE, 'id', id, 0, limits.MAX_MEMBER_ID);
  const self = members.find((member) => member.id === id);
  if (self === undefined) throw invalidOption(`${WHERE}: id ${String(id)} is not in the list of members`);
  return self;
}

function validateSilence(value: unknown, heartbeatMs: number, least: number): number {
  const fallback = Math.max(least, 3 * heartbeatMs);
  const silenceMs = integerOption(WHERE, 'silenceTimeoutMs', value ?? fallback, 0, Number.MAX_SAFE_INTEGER);
  if (silenceMs !== 0 && silenceMs < 3 * heartbeatMs) {
    throw invalidOption(
      `silenceTimeoutMs: found ${silenceMs}, needed 0 (never) or at least 3 × heartbeatMs = ${3 * heartbeatMs}`,
    );
  }
  return silenceMs;
}

function requireLoopback(members: readonly Member[], listenHost: string): void {
  const outside = members.find((member) => !isLoopbackHost(member.host));
  if (outside === undefined && isLoopbackHost(listenHost)) return;
  const found = outside === undefined ? `listenHost ${listenHost}` : `member ${describeMember(outside)}`;
  throw keyRequired(found);
}

export function keyRequired(found: string): MeshError {
  return new MeshError(
    'ERR_RDMC_MESH_KEY_REQUIRED',
    `${found} is not on loopback; give every member the same key (openssl rand -hex 32), ` +
      'or, on a network that you trust entirely, set insecureListenBeyondLoopback: true',
  );
}

function validateServer(server: unknown): ResolvedOptions['server'] {
  if (server === undefined) return undefined;
  if (server instanceof Server) {
    if (!server.listening)
      throw invalidOption('server: it does not listen; call listen() and wait for it first');
    return server;
  }
  const fd = (server as { fd?: unknown } | null)?.fd;
  if (!Number.isInteger(fd) || (fd as number) < 0) {
    throw invalidOption('server: needed a listening net.Server or { fd }');
  }
  return { fd: fd as number };
}

function validateAttributes(attributes: MeshAttributes): MeshAttributes {
  const problem = attributesProblem(attributes);
  if (problem !== undefined) throw invalidOption(`attributes: ${problem}`);
  const bytes = Buffer.byteLength(JSON.stringify(attributes));
  if (bytes > limits.MAX_ATTRIBUTES_BYTES) {
    throw invalidOption(`attributes: ${bytes} bytes as JSON, needed at most ${limits.MAX_ATTRIBUTES_BYTES}`);
  }
  return Object.freeze({ ...attributes });
}

/** The error in attributes, given or received; undefined: they are valid. */
export function attributesProblem(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'needed a plain object';
  for (const [name, entry] of Object.entries(value)) {
    const fits =
      entry === null || typeof entry === 'string' || typeof entry === 'boolean' || Number.isFinite(entry);
    if (!fits) return `'${name}' is not text, a finite number, a boolean or null`;
  }
  return undefined;
}
