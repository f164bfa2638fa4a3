import type { Key, Logger } from '@rdmc/common';
import { list, optional, record, ShapeError, text, whole } from '@rdmc/common/shapes';
import type { NodeOptions } from '@rdmc/group';
import { isLoopbackHost, KeyedSockets } from '@rdmc/mesh/sockets';
import type { Transport } from '@rdmc/verbs';
import type { AfterCast } from './arrived-cast.js';
import { DEFAULT_PORT, DEFAULT_RESUME_LIMIT, MAX_PORT } from './constants.js';
import type { EntrySink } from './entry-sink.js';
import { CastError, invalidOption } from './errors.js';
import { CONTROL_PURPOSE } from './identity.js';
import type { CastMemory } from './memory/file-memory.js';
import { type CastParts, WantedParts } from './memory/parts.js';
import { checkSharedName } from './memory/shared/shared-name.js';
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
import { isFetchKey, wrongRole } from './pull/roles.js';
import type { ReceiveOptions } from './receiver-options.js';
import { checkResumeLimit, type ResumeLimit } from './resume/resume-limit.js';

const WHERE = 'receiveFiles';
const KNOWN = [
  'directory',
  'sink',
  'memory',
  'sharedMemory',
  'parts',
  'oneFile',
  'afterCast',
  'host',
  'port',
  'key',
  'meshPorts',
  'requireEncryption',
  'once',
  'fsync',
  'resume',
  'resumeLimit',
  'archive',
  'device',
  'transport',
  'signal',
  'logger',
  'trace',
] as const satisfies readonly (keyof ReceiveOptions)[];

export interface CheckedReceiveOptions {
  /** Undefined where `sink`, `memory` or `sharedMemory` takes the files. */
  readonly directory: string | undefined;
  readonly sink: EntrySink | undefined;
  readonly memory: CastMemory | undefined;
  readonly sharedMemory: string | undefined;
  readonly parts: CastParts | undefined;
  readonly oneFile: boolean;
  readonly afterCast: AfterCast | undefined;
  readonly host: string;
  readonly port: number;
  readonly key: Key | undefined;
  readonly sockets: KeyedSockets;
  readonly meshPorts: PortRange | undefined;
  readonly requireEncryption: boolean;
  readonly once: boolean;
  readonly fsync: boolean;
  readonly resume: boolean;
  readonly resumeLimit: ResumeLimit;
  readonly archive: boolean;
  readonly device: string;
  readonly transport: Transport;
  readonly signal: AbortSignal | undefined;
  readonly logger: Logger | undefined;
  readonly trace: NodeOptions['trace'];
}

/**
 * @throws CastError ERR_RDMC_UNKNOWN_OPTION, ERR_RDMC_INVALID_OPTION, ERR_RDMC_KEY_REQUIRED, ERR_RDMC_WRONG_ROLE; MeshError
 *   ERR_RDMC_MESH_WEAK_KEY, ERR_RDMC_MESH_USER_KEY
 */
export function checkReceiveOptions(options: ReceiveOptions): CheckedReceiveOptions {
  onlyKnownOptions(WHERE, options, KNOWN);
  const { key } = options;
  // All that can fetch could cast to this receiver.
  if (isFetchKey(key)) throw wrongRole('a receiver needs the key that it was made from');
  const sockets = new KeyedSockets({ key, purpose: CONTROL_PURPOSE });
  const host = textOption(WHERE, 'host', options.host ?? (key === undefined ? '127.0.0.1' : '0.0.0.0'));
  if (key === undefined && !isLoopbackHost(host)) throw keyRequired(host);
  return {
    ...checkDestination(options),
    oneFile: booleanOption(WHERE, 'oneFile', options.oneFile ?? false),
    afterCast: functionOption('afterCast', options.afterCast),
    host,
    port: integerOption(WHERE, 'port', options.port ?? DEFAULT_PORT, 0, MAX_PORT),
    key,
    sockets,
    meshPorts: portsOption(WHERE, options.meshPorts),
    requireEncryption: booleanOption(WHERE, 'requireEncryption', options.requireEncryption ?? false),
    once: options.once === true,
    fsync: booleanOption(WHERE, 'fsync', options.fsync ?? true),
    resume: booleanOption(WHERE, 'resume', options.resume ?? true),
    resumeLimit: checkResumeLimit(WHERE, options.resumeLimit ?? DEFAULT_RESUME_LIMIT),
    archive: booleanOption(WHERE, 'archive', options.archive ?? false),
    device: textOption(WHERE, 'device', options.device ?? 'auto'),
    transport: choiceOption(WHERE, 'transport', options.transport ?? 'auto', TRANSPORTS),
    signal: signalOption(WHERE, options.signal),
    logger: options.logger,
    trace: options.trace,
  };
}

type Destination = Pick<CheckedReceiveOptions, 'directory' | 'sink' | 'memory' | 'sharedMemory' | 'parts'>;

/** Files go to a directory, to sinks, or to memory. */
function checkDestination({ directory, sink, memory, sharedMemory, parts }: ReceiveOptions): Destination {
  const all = Object.entries({ directory, sink, memory, sharedMemory });
  const given = all.flatMap(([name, its]) => (its === undefined ? [] : name));
  if (given.length > 1) throw invalidOption(`${WHERE}: ${given.join(' and ')} exclude each other`);
  const isMemory = memory !== undefined || sharedMemory !== undefined;
  if (parts !== undefined && !isMemory)
    throw invalidOption(`${WHERE}: parts applies only to memory and to sharedMemory`);
  return {
    directory: isMemory || sink ? undefined : textOption(WHERE, 'directory', directory),
    sink: functionOption('sink', sink),
    memory: memoryOption(memory),
    sharedMemory: sharedMemory === undefined ? undefined : checkSharedName(WHERE, sharedMemory),
    parts: parts && partsOption(parts),
  };
}

function memoryOption(memory: CastMemory | undefined): CastMemory | undefined {
  if (memory === undefined) return memory;
  const isWhole = [memory?.allocate, memory?.arrived].every((each) => typeof each === 'function');
  if (!isWhole)
    throw invalidOption(`${WHERE}: memory: needed an object with the functions allocate and arrived`);
  return memory;
}

const partsShape = record({
  tensors: optional(list(text(), 1)),
  ranges: optional(list(record({ path: text(), begin: whole(), end: whole(1) }), 1)),
});

/** @throws CastError ERR_RDMC_INVALID_OPTION, ERR_RDMC_INVALID_PATTERN */
function partsOption(given: CastParts): CastParts {
  try {
    const parts = partsShape.read(given, 'parts');
    const isForward = parts.ranges?.every(({ begin, end }) => begin < end) ?? true;
    if (!isForward) throw invalidOption(`${WHERE}: parts.ranges: a range ends before it begins`);
    new WantedParts(parts);
    return parts;
  } catch (error) {
    if (error instanceof ShapeError) throw invalidOption(`${WHERE}: ${error.message}`);
    throw error;
  }
}

function functionOption<F>(name: string, value: F): F {
  if (value === undefined || typeof value === 'function') return value;
  throw invalidOption(`${WHERE}: ${name}: needed a function`);
}

export function keyRequired(host: string): CastError {
  return new CastError(
    'ERR_RDMC_KEY_REQUIRED',
    `${host} is not on loopback; give sender and receivers the same key (openssl rand -hex 32)`,
  );
}
