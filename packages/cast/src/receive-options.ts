import type { Key, Logger } from '@rdmc/common';
import type { NodeOptions } from '@rdmc/group';
import { isLoopbackHost, KeyedSockets } from '@rdmc/mesh/sockets';
import type { Transport } from '@rdmc/verbs';
import type { AfterCast } from './arrived-cast.js';
import { DEFAULT_PORT, DEFAULT_RESUME_LIMIT, MAX_PORT } from './constants.js';
import type { EntrySink } from './entry-sink.js';
import { CastError, invalidOption } from './errors.js';
import { CONTROL_PURPOSE } from './identity.js';
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
  'device',
  'transport',
  'signal',
  'logger',
  'trace',
] as const satisfies readonly (keyof ReceiveOptions)[];

export interface CheckedReceiveOptions {
  /** Undefined where `sink` takes the files. */
  readonly directory: string | undefined;
  readonly sink: EntrySink | undefined;
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
    device: textOption(WHERE, 'device', options.device ?? 'auto'),
    transport: choiceOption(WHERE, 'transport', options.transport ?? 'auto', TRANSPORTS),
    signal: signalOption(WHERE, options.signal),
    logger: options.logger,
    trace: options.trace,
  };
}

/** Files go to a directory, or to sinks. */
function checkDestination({
  directory,
  sink,
}: ReceiveOptions): Pick<CheckedReceiveOptions, 'directory' | 'sink'> {
  if (sink === undefined) return { directory: textOption(WHERE, 'directory', directory), sink };
  if (directory !== undefined) throw invalidOption(`${WHERE}: directory and sink exclude each other`);
  return { directory, sink: functionOption('sink', sink) };
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
