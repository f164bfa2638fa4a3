import { isAbsolute } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Logger, optionChecks } from '@rdmc/common';
import type { OpenDeviceOptions } from '@rdmc/verbs';
import {
  DEFAULT_RING_BYTES,
  DEFAULT_WINDOW_MS,
  MAX_PROTOCOLS,
  MAX_RING_BYTES,
  MIN_RING_BYTES,
} from './constants.js';
import { DataPlaneError } from './errors.js';
import { NONE } from './trace/layout.js';
import type { TraceFile } from './trace/trace-file.js';

/** A protocol to run in the worker. */
export interface ProtocolModule {
  /** The name of the protocol in `connect`. */
  readonly name: string;
  /** URL, or absolute path, of an ES module whose default export is the result of `protocolWorker`. */
  readonly module: URL | string;
  /** The protocol gets it as `context.data`; any value that can be cloned to a worker. */
  readonly data?: unknown;
}

/** The options of `DataPlane.open`. */
export interface DataPlaneOptions {
  /**
   * The options of the device, as for `openDevice` of @rdmc/verbs; or a promise of them: the worker starts and loads
   * its protocols meanwhile. `open` rejects with the rejection of the promise.
   */
  readonly device?: OpenDeviceOptions | Promise<OpenDeviceOptions>;
  /**
   * How long the worker polls after the last work before it sleeps, in milliseconds (default: RDMC_WINDOW_MS of the
   * environment, or 50, as in the paper). 0: interrupts only. Infinity: polls without an end, and uses a whole processor.
   */
  readonly windowMs?: number;
  /** Entries of the completion queue (default 16384, or the limit of the device if that is lower). */
  readonly completionQueueDepth?: number;
  /** At least one, at most 255. */
  readonly protocols: readonly ProtocolModule[];
  /** A power of two from 4096 to 2^30 (default 1 MiB). One command takes at most a quarter. */
  readonly commandRingBytes?: number;
  /** A power of two from 4096 to 2^30 (default 1 MiB). One event or answer takes at most a quarter. */
  readonly eventRingBytes?: number;
  /** Ends the start; the worker has exited when `open` rejects. It has no effect later. */
  readonly signal?: AbortSignal;
  /** Reports protocols that failed and the end of the worker; default: none. */
  readonly logger?: Logger;
  /** Where to trace, and the member that the records name; default: no trace. The caller closes the file. */
  readonly trace?: PlaneTrace | undefined;
}

/** The options of a worker, which are known before its device. */
export type WorkerSettings = Omit<DataPlaneOptions, 'device' | 'signal' | 'logger' | 'trace'>;

/** The trace of a data plane. */
export interface PlaneTrace {
  /** Reads the rings of the data plane's threads. */
  readonly file: TraceFile;
  /** Id of the member, 0 to 2^32 - 2. */
  readonly member: number;
}

export interface CheckedOptions {
  readonly windowMs: number;
  readonly completionQueueDepth: number | undefined;
  readonly protocols: readonly { readonly name: string; readonly module: string; readonly data: unknown }[];
  readonly commandRingBytes: number;
  readonly eventRingBytes: number;
  readonly trace: PlaneTrace | undefined;
}

const KNOWN_WORKER = ['windowMs', 'completionQueueDepth', 'protocols', 'commandRingBytes', 'eventRingBytes'];
const KNOWN = [...KNOWN_WORKER, 'device', 'signal', 'logger', 'trace'];

const WHERE = 'DataPlane.open';
/** The options of `DataPlane.open` with a prepared worker, which has the others already. */
const KNOWN_PREPARED = ['prepared', 'device', 'signal', 'logger'];
const { integerOption, onlyKnownOptions, textOption } = optionChecks(
  (code, message) => new DataPlaneError(code, message),
);

function invalid(message: string): DataPlaneError {
  return new DataPlaneError('ERR_RDMC_INVALID_OPTION', `${WHERE}: ${message}`);
}

const WINDOW_VARIABLE = 'RDMC_WINDOW_MS';

function windowOf(value: unknown): number {
  const text = process.env[WINDOW_VARIABLE];
  if (value === undefined && !text) return DEFAULT_WINDOW_MS;
  const [name, window] = value === undefined ? [WINDOW_VARIABLE, Number(text)] : ['windowMs', value];
  if (typeof window !== 'number' || !(window >= 0)) {
    const found = String(value ?? text);
    throw invalid(`${name} must be a number of milliseconds from 0 to Infinity, not ${found}`);
  }
  return window;
}

function ringOf(name: string, value: unknown = DEFAULT_RING_BYTES): number {
  const bytes = value as number;
  const inRange = Number.isInteger(bytes) && bytes >= MIN_RING_BYTES && bytes <= MAX_RING_BYTES;
  if (!inRange || (bytes & (bytes - 1)) !== 0) {
    throw invalid(
      `${name} must be a power of two from ${MIN_RING_BYTES} to ${MAX_RING_BYTES}, not ${String(value)}`,
    );
  }
  return bytes;
}

function depthOf(value: unknown): number | undefined {
  if (value === undefined) return undefined;
  return integerOption(WHERE, 'completionQueueDepth', value, 1, Number.MAX_SAFE_INTEGER);
}

function traceOf(trace: PlaneTrace | undefined): PlaneTrace | undefined {
  if (trace === undefined) return undefined;
  onlyKnownOptions(`${WHERE}: trace`, trace, ['file', 'member']);
  if (typeof trace.file?.source !== 'function') throw invalid('trace.file must be a TraceFile');
  integerOption(`${WHERE}: trace`, 'member', trace.member, 0, NONE - 1);
  return trace;
}

function moduleOf(name: string, module: unknown): string {
  if (module instanceof URL) return module.href;
  if (typeof module === 'string') {
    if (isAbsolute(module)) return pathToFileURL(module).href;
    if (URL.canParse(module)) return new URL(module).href;
  }
  throw invalid(
    `the module of protocol '${name}' must be a URL or an absolute path, not ${String(module)}; ` +
      "make one with new URL('./protocol.js', import.meta.url)",
  );
}

function protocolsOf(protocols: unknown): CheckedOptions['protocols'] {
  if (!Array.isArray(protocols) || protocols.length > MAX_PROTOCOLS) {
    throw invalid(`protocols must be an array of at most ${MAX_PROTOCOLS} protocols`);
  }
  const names = new Set<string>();
  return protocols.map((protocol: ProtocolModule) => {
    onlyKnownOptions(`${WHERE}: protocols`, protocol, ['name', 'module', 'data']);
    const { name, module, data } = protocol;
    textOption(`${WHERE}: protocols`, 'name', name);
    if (names.has(name)) throw invalid(`two protocols have the name '${name}'; use different names`);
    names.add(name);
    return { name, module: moduleOf(name, module), data };
  });
}

/** @throws DataPlaneError ERR_RDMC_UNKNOWN_OPTION */
export function checkPreparedOptions(options: object): void {
  onlyKnownOptions(`${WHERE} with a prepared worker`, options, KNOWN_PREPARED);
}

/** @throws DataPlaneError ERR_RDMC_UNKNOWN_OPTION, ERR_RDMC_INVALID_OPTION */
export function checkOptions(options: DataPlaneOptions): CheckedOptions {
  onlyKnownOptions(WHERE, options, KNOWN);
  return checked(options);
}

/** @throws DataPlaneError ERR_RDMC_UNKNOWN_OPTION, ERR_RDMC_INVALID_OPTION */
export function checkWorkerSettings(settings: WorkerSettings): CheckedOptions {
  onlyKnownOptions('PreparedWorker.start', settings, KNOWN_WORKER);
  return checked(settings);
}

function checked(options: Partial<DataPlaneOptions>): CheckedOptions {
  return {
    windowMs: windowOf(options.windowMs),
    completionQueueDepth: depthOf(options.completionQueueDepth),
    protocols: protocolsOf(options.protocols),
    commandRingBytes: ringOf('commandRingBytes', options.commandRingBytes),
    eventRingBytes: ringOf('eventRingBytes', options.eventRingBytes),
    trace: traceOf(options.trace),
  };
}
