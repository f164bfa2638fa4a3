import type { Key } from '@rdmc/common';
import { isLoopbackHost, KeyedSockets } from '@rdmc/mesh/sockets';
import * as limits from '../constants.js';
import { booleanOption, integerOption, onlyKnownOptions, textOption } from '../options.js';
import { keyRequired } from '../receive-options.js';
import { type CheckedEndOptions, checkEndOptions, END_OPTIONS, type EndOptions } from './end-options.js';
import { PULL_PURPOSE } from './frames.js';
import { type ServerKeys, serverKeys } from './roles.js';

/** The options of `serveFiles`. */
export interface ServeOptions extends EndOptions {
  /** What is served: everything below it, without symbolic links. It must exist. */
  readonly directory: string;
  /** Address to listen on: default 0.0.0.0, or 127.0.0.1 without a key. */
  readonly host?: string | undefined;
  /** Default 7412; 0 takes a free one. */
  readonly port?: number | undefined;
  /** Cluster key of at least 16 bytes. Without one: the key of the user, on loopback only. */
  readonly key?: Key | undefined;
  /** Address at which fetchers reach this machine (default: the local address of their connection). */
  readonly advertise?: string | undefined;
  /** Whether files are encrypted on their way (default true). False is for networks that you trust. */
  readonly encrypt?: boolean | undefined;
  /** Bytes per second that the server feeds into the groups of each name, at least 64 KiB (default: no limit). */
  readonly bandwidthLimit?: number | undefined;
  /** How long a fetcher may make no progress before it is dropped, in milliseconds (default 30,000). */
  readonly stallTimeoutMs?: number | undefined;
}

const WHERE = 'serveFiles';
const KNOWN = [
  'directory',
  'host',
  'port',
  'key',
  'advertise',
  'encrypt',
  'bandwidthLimit',
  'stallTimeoutMs',
  ...END_OPTIONS,
] as const satisfies readonly (keyof ServeOptions)[];

export interface CheckedServeOptions extends CheckedEndOptions {
  readonly directory: string;
  readonly host: string;
  readonly port: number;
  readonly keys: ServerKeys;
  readonly sockets: KeyedSockets;
  readonly advertise: string | undefined;
  readonly encrypt: boolean;
  readonly bandwidthLimit: number | undefined;
  readonly stallTimeoutMs: number;
}

/** @throws CastError with the code of the wrong option */
export function checkServeOptions(options: ServeOptions): CheckedServeOptions {
  onlyKnownOptions(WHERE, options, KNOWN);
  const { key, advertise, bandwidthLimit } = options;
  const host = textOption(WHERE, 'host', options.host ?? (key === undefined ? '127.0.0.1' : '0.0.0.0'));
  if (key === undefined && !isLoopbackHost(host)) throw keyRequired(host);
  const keys = serverKeys(key);
  const integer = (name: keyof ServeOptions, fallback: number, least: number, most: number): number =>
    integerOption(WHERE, name, options[name] ?? fallback, least, most);
  const { MIN_STALL_TIMEOUT_MS, MAX_STALL_TIMEOUT_MS, MIN_BANDWIDTH_LIMIT } = limits;
  return {
    ...checkEndOptions(WHERE, options),
    directory: textOption(WHERE, 'directory', options.directory),
    host,
    port: integer('port', limits.DEFAULT_SERVE_PORT, 0, limits.MAX_PORT),
    keys,
    sockets: new KeyedSockets({ key: keys.secret, purpose: PULL_PURPOSE }),
    advertise: advertise === undefined ? undefined : textOption(WHERE, 'advertise', advertise),
    encrypt: booleanOption(WHERE, 'encrypt', options.encrypt ?? true),
    bandwidthLimit:
      bandwidthLimit === undefined
        ? undefined
        : integer('bandwidthLimit', 0, MIN_BANDWIDTH_LIMIT, Number.MAX_SAFE_INTEGER),
    stallTimeoutMs: integer(
      'stallTimeoutMs',
      limits.DEFAULT_STALL_TIMEOUT_MS,
      MIN_STALL_TIMEOUT_MS,
      MAX_STALL_TIMEOUT_MS,
    ),
  };
}
