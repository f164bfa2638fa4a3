import type { Key } from '@rdmc/common';
import { describeAddress, isLoopbackHost, KeyedSockets } from '@rdmc/mesh/sockets';
import * as limits from '../constants.js';
import { type ComparisonKind, comparisons } from '../manifest/policy.js';
import { booleanOption, choiceOption, integerOption, onlyKnownOptions, textOption } from '../options.js';
import { keyRequired } from '../receive-options.js';
import { checkPath } from '../stream/paths.js';
import { type CheckedEndOptions, checkEndOptions, END_OPTIONS, type EndOptions } from './end-options.js';
import { PULL_PURPOSE } from './frames.js';
import { type FetcherKeys, fetcherKeys } from './roles.js';

/** The options of `fetchFiles`. */
export interface FetchOptions extends EndOptions {
  /** Where the server listens; default port 7412. */
  readonly from: { readonly host: string; readonly port?: number | undefined };
  /**
   * Path of a file or directory below the served directory; it arrives under its last component. Default: everything in the
   * served directory.
   */
  readonly name?: string | undefined;
  /** Where files are stored; it must exist. */
  readonly directory: string;
  /** A key for fetching (`fetchKey`), or the key of the server. Without one: the key of the user, on loopback only. */
  readonly key?: Key | undefined;
  /**
   * How this end decides that it has a file: 'size-time' (default): size, time of last change and mode are equal; 'content':
   * it is hashed; 'none': never. Of a file that differs, pieces of 1 MiB that are equal are not sent, except with 'none'.
   */
  readonly compare?: ComparisonKind | undefined;
  /** Whether everything is on disk before `finished` resolves (default true). */
  readonly fsync?: boolean | undefined;
  /** How long to call a server that does not answer, is busy, or whose name does not resolve, in milliseconds (default 0: once). */
  readonly waitMs?: number | undefined;
  /**
   * How long this end serves on when everything is here, in milliseconds (default 0: not). Meanwhile the server may let it send
   * files to later fetchers, so that the server's link does not carry them again. `finished` resolves afterwards; the phase is
   * 'serving'. Aborting `signal` then only ends that.
   */
  readonly serveOnMs?: number | undefined;
}

const WHERE = 'fetchFiles';
const KNOWN = [
  'from',
  'name',
  'directory',
  'key',
  'compare',
  'fsync',
  'waitMs',
  'serveOnMs',
  ...END_OPTIONS,
] as const satisfies readonly (keyof FetchOptions)[];

export interface CheckedFetchOptions extends CheckedEndOptions {
  readonly host: string;
  readonly port: number;
  /** `host:port`, for messages. */
  readonly server: string;
  readonly name: string;
  readonly directory: string;
  readonly keys: FetcherKeys;
  readonly sockets: KeyedSockets;
  readonly compare: ComparisonKind;
  readonly fsync: boolean;
  readonly waitMs: number;
  readonly serveOnMs: number;
}

/** @throws CastError with the code of the wrong option */
export function checkFetchOptions(options: FetchOptions): CheckedFetchOptions {
  onlyKnownOptions(WHERE, options, KNOWN);
  onlyKnownOptions(`${WHERE}: from`, options.from, ['host', 'port']);
  const { key, from } = options;
  const host = textOption(WHERE, 'from.host', from.host);
  const { DEFAULT_SERVE_PORT, MAX_PORT, MAX_TIMER_MS } = limits;
  const port = integerOption(WHERE, 'from.port', from.port ?? DEFAULT_SERVE_PORT, 1, MAX_PORT);
  const server = describeAddress({ host, port });
  if (key === undefined && !isLoopbackHost(host)) throw keyRequired(server);
  const name = textOption(WHERE, 'name', options.name || '.');
  if (name !== '.') checkPath(Buffer.from(name));
  const keys = fetcherKeys(key);
  return {
    ...checkEndOptions(WHERE, options),
    ...{ host, port, server, keys },
    name: name === '.' ? '' : name,
    directory: textOption(WHERE, 'directory', options.directory),
    sockets: new KeyedSockets({ key: keys.secret, purpose: PULL_PURPOSE }),
    compare: choiceOption<ComparisonKind>(WHERE, 'compare', options.compare ?? 'size-time', comparisons),
    fsync: booleanOption(WHERE, 'fsync', options.fsync ?? true),
    waitMs: integerOption(WHERE, 'waitMs', options.waitMs ?? 0, 0, MAX_TIMER_MS),
    serveOnMs: integerOption(WHERE, 'serveOnMs', options.serveOnMs ?? 0, 0, MAX_TIMER_MS),
  };
}
