import type { Key, Logger } from '@rdmc/common';
import type { NodeOptions } from '@rdmc/group';
import { describeAddress, isLoopbackHost, KeyedSockets } from '@rdmc/mesh/sockets';
import { type Algorithm, algorithms, type RackId } from '@rdmc/schedule';
import { MAX_SERVICE_LEVEL, MAX_TRAFFIC_CLASS, type Transport } from '@rdmc/verbs';
import type { CastOptions, CastTarget } from './cast-options.js';
import { checkGathering, type GatheringOptions } from './checked-gathering.js';
import { checkSelection } from './checked-selection.js';
import { type ChecksumKind, checksums } from './checksum.js';
import * as limits from './constants.js';
import { CastError, invalidOption } from './errors.js';
import type { FilterRule } from './filters/filter-rule.js';
import { CONTROL_PURPOSE } from './identity.js';
import type { ComparisonPolicy } from './manifest/policy.js';
import {
  booleanOption,
  choiceOption,
  integerOption,
  onlyKnownOptions,
  portsOption,
  signalOption,
  TRANSPORTS,
  textOption,
} from './options.js';
import type { PortRange } from './ports.js';
import type { ArchiveOrder } from './reader/orders.js';
import { keyRequired } from './receive-options.js';
import type { StreamInput } from './sender/input-feed.js';

const WHERE = 'castFiles';
const KNOWN = [
  'to',
  'key',
  'algorithm',
  'rack',
  'blockBytes',
  'encrypt',
  'compress',
  'checksum',
  'compare',
  'filters',
  'only',
  'update',
  'existing',
  'delete',
  'dryRun',
  'archive',
  'numericIds',
  'wholeFiles',
  'resume',
  'meshPorts',
  'messageBytes',
  'bandwidthLimit',
  'connectTimeoutMs',
  'stallTimeoutMs',
  'trafficClass',
  'serviceLevel',
  'waitFor',
  'joinWindowMs',
  'retries',
  'device',
  'transport',
  'advertise',
  'signal',
  'logger',
  'trace',
] as const satisfies readonly (keyof CastOptions)[];
const KNOWN_OF_TARGET = ['host', 'port', 'rack'] as const satisfies readonly (keyof CastTarget)[];
const MAX_BLOCK_BYTES = 1024 * limits.MIB;
/** The rack of a sender that names none. */
const SEPARATE_RACK = '(sender)';

export interface Target {
  readonly host: string;
  readonly port: number;
  readonly rack: RackId | undefined;
  /** `host:port`. */
  readonly name: string;
}

export interface CheckedCastOptions {
  readonly to: readonly Target[];
  readonly key: Key | undefined;
  readonly sockets: KeyedSockets;
  /** Undefined: `chooseTransfer` chooses. */
  readonly algorithm: Algorithm | undefined;
  /** The sender's rack. */
  readonly rack: RackId;
  readonly blockBytes: 'auto' | number;
  readonly encrypt: boolean;
  readonly compress: boolean;
  readonly checksum: ChecksumKind;
  /** Undefined where everything is sent without a question. */
  readonly comparison: ComparisonPolicy | undefined;
  readonly rules: readonly FilterRule[];
  /** Only these paths, relative to the one directory that is cast. */
  readonly listed: readonly Uint8Array[] | undefined;
  /** What is told about entries beside mode and time; undefined: nothing. */
  readonly archive: ArchiveOrder | undefined;
  readonly meshPorts: PortRange | undefined;
  readonly messageBytes: number;
  readonly bandwidthLimit: number | undefined;
  readonly connectTimeoutMs: number;
  readonly stallTimeoutMs: number;
  readonly trafficClass: number;
  readonly serviceLevel: number;
  /** Receivers may begin at different times; undefined: all are called once. */
  readonly gathering: GatheringOptions | undefined;
  readonly retries: number;
  readonly device: string;
  readonly transport: Transport;
  readonly advertise: string | undefined;
  readonly signal: AbortSignal | undefined;
  readonly logger: Logger | undefined;
  readonly trace: NodeOptions['trace'];
  /** Bytes that are cast in the place of paths. */
  readonly input?: StreamInput | undefined;
}

/** @throws CastError with the code of the wrong option; MeshError ERR_RDMC_MESH_WEAK_KEY, ERR_RDMC_MESH_USER_KEY */
export function checkCastOptions(options: CastOptions): CheckedCastOptions {
  onlyKnownOptions(WHERE, options, KNOWN);
  const { key, bandwidthLimit, advertise } = options;
  const sockets = new KeyedSockets({ key, purpose: CONTROL_PURPOSE });
  const to = checkTargets(options.to, key !== undefined);
  const { MIN_MESSAGE_BYTES, MAX_MESSAGE_BYTES, MAX_TIMER_MS } = limits;
  const integer = (name: keyof CastOptions, fallback: number, least: number, most: number): number =>
    integerOption(WHERE, name, options[name] ?? fallback, least, most);
  return {
    to,
    key,
    sockets,
    ...checkAlgorithm(options, to),
    blockBytes:
      options.blockBytes === undefined || options.blockBytes === 'auto'
        ? 'auto'
        : integer('blockBytes', 0, 1, MAX_BLOCK_BYTES),
    encrypt: booleanOption(WHERE, 'encrypt', options.encrypt ?? true),
    compress: booleanOption(WHERE, 'compress', options.compress ?? false),
    checksum: choiceOption<ChecksumKind>(WHERE, 'checksum', options.checksum ?? 'gmac', checksums),
    ...checkSelection(options),
    meshPorts: portsOption(WHERE, options.meshPorts),
    messageBytes: integer('messageBytes', limits.DEFAULT_MESSAGE_BYTES, MIN_MESSAGE_BYTES, MAX_MESSAGE_BYTES),
    bandwidthLimit:
      bandwidthLimit === undefined
        ? undefined
        : integer('bandwidthLimit', 0, limits.MIN_BANDWIDTH_LIMIT, Number.MAX_SAFE_INTEGER),
    connectTimeoutMs: integer('connectTimeoutMs', limits.DEFAULT_CONNECT_TIMEOUT_MS, 1, MAX_TIMER_MS),
    stallTimeoutMs: integer(
      'stallTimeoutMs',
      limits.DEFAULT_STALL_TIMEOUT_MS,
      limits.MIN_STALL_TIMEOUT_MS,
      limits.MAX_STALL_TIMEOUT_MS,
    ),
    trafficClass: integer('trafficClass', 0, 0, MAX_TRAFFIC_CLASS),
    serviceLevel: integer('serviceLevel', 0, 0, MAX_SERVICE_LEVEL),
    gathering: checkGathering(options, to.length),
    retries: integer('retries', 0, 0, limits.MAX_RETRIES),
    device: textOption(WHERE, 'device', options.device ?? 'auto'),
    transport: choiceOption(WHERE, 'transport', options.transport ?? 'auto', TRANSPORTS),
    advertise: advertise === undefined ? undefined : textOption(WHERE, 'advertise', advertise),
    signal: signalOption(WHERE, options.signal),
    logger: options.logger,
    trace: options.trace,
  };
}

function checkTargets(to: unknown, hasKey: boolean): Target[] {
  if (!Array.isArray(to) || to.length === 0) throw invalidOption('to: at least one { host, port } is needed');
  if (to.length > limits.MAX_TARGETS) {
    throw invalidOption(`to: found ${to.length} receivers, at most ${limits.MAX_TARGETS} are possible`);
  }
  const seen = new Set<string>();
  return to.map((given: CastTarget, index) => {
    onlyKnownOptions(`${WHERE}: to[${index}]`, given, KNOWN_OF_TARGET);
    const host = textOption(WHERE, `to[${index}].host`, given.host).toLowerCase();
    const port = integerOption(
      WHERE,
      `to[${index}].port`,
      given.port ?? limits.DEFAULT_PORT,
      1,
      limits.MAX_PORT,
    );
    const name = describeAddress({ host, port });
    if (!hasKey && !isLoopbackHost(host)) throw keyRequired(name);
    if (seen.has(name)) throw duplicateHost(name, name);
    seen.add(name);
    return { host, port, rack: checkRack(`to[${index}].rack`, given.rack), name };
  });
}

export function duplicateHost(name: string, other: string): CastError {
  const message =
    name === other
      ? `the receiver ${name} is given twice; give it once`
      : `${name} and ${other} are the same receiver; give it once`;
  return new CastError('ERR_RDMC_DUPLICATE_HOST', message, { receiver: name });
}

function checkRack(name: string, rack: unknown): RackId | undefined {
  if (rack === undefined || typeof rack === 'string' || Number.isSafeInteger(rack)) return rack as RackId;
  throw invalidOption(`${name}: needed a name or a whole number`);
}

function checkAlgorithm(options: CastOptions, to: readonly Target[]) {
  const racked = to.filter(({ rack }) => rack !== undefined).length;
  const { algorithm } = options;
  if (algorithm !== undefined) choiceOption<Algorithm>(WHERE, 'algorithm', algorithm, algorithms);
  if (algorithm === 'hybrid' && racked < to.length)
    throw invalidOption(`algorithm 'hybrid' needs the rack of every receiver; ${racked} have one`);
  return { algorithm, rack: checkRack('rack', options.rack) ?? SEPARATE_RACK };
}
