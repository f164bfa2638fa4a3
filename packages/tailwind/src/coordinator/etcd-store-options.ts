import { invalidOption } from '../errors.js';
import { integerOption, type Logger, onlyKnownOptions, textOption } from '../options.js';

/** The options of `EtcdStore.open`. */
export interface EtcdStoreOptions {
  /** Client addresses of the etcd cluster, such as `http://10.0.0.1:2379`; tried in turn. */
  readonly endpoints: readonly string[];
  /** Prefix of every key (default `/rdmc/tailwind/`). Each cluster of logs needs its own. */
  readonly prefix?: string;
  /** For etcd's own authentication. Give both `user` and `password`, or neither. */
  readonly user?: string;
  /** The password of `user`. */
  readonly password?: string;
  /** For `https:` endpoints: PEM, as `tls.connect` takes them. */
  readonly tls?: {
    readonly ca?: string | Buffer;
    readonly cert?: string | Buffer;
    readonly key?: string | Buffer;
  };
  /** How long one operation may take, all endpoints together (default 5000 ms). */
  readonly timeoutMs?: number;
  /**
   * How long a silent coordinator keeps the lead (default 10,000 ms; etcd counts whole seconds, so it is rounded up).
   */
  readonly leadMs?: number;
  /** How long `open` waits for another coordinator to stop (default 0: not at all). `Infinity` for a standby. */
  readonly waitMs?: number;
  /** Ends the wait: `open` rejects with its reason. */
  readonly signal?: AbortSignal | undefined;
  /** Shown to other processes as the name of the leader (default: host name and process id). */
  readonly name?: string;
  /** Reports an etcd that does not answer or does not renew the lead; default: none. */
  readonly logger?: Logger;
}

export interface CheckedEtcdOptions {
  readonly endpoints: readonly URL[];
  readonly prefix: string;
  readonly credentials: { readonly name: string; readonly password: string } | undefined;
  readonly tls: EtcdStoreOptions['tls'];
  readonly timeoutMs: number;
  readonly leadMs: number;
  readonly waitMs: number;
  readonly signal: AbortSignal | undefined;
  readonly name: string | undefined;
  readonly logger: Logger | undefined;
}

const KNOWN = [
  'endpoints',
  'prefix',
  'user',
  'password',
  'tls',
  'timeoutMs',
  'leadMs',
  'waitMs',
  'signal',
  'name',
  'logger',
];
const DEFAULT_PREFIX = '/rdmc/tailwind/';
const DEFAULT_TIMEOUT_MS = 5_000;
const MAX_TIMEOUT_MS = 600_000;
const DEFAULT_LEAD_MS = 10_000;
/** A shorter time causes too much traffic, and etcd does not grant leases below its own election timeout. */
const MIN_LEAD_MS = 2_000;
const MAX_LEAD_MS = 3_600_000;

/** @throws TailwindError ERR_RDMC_UNKNOWN_OPTION, ERR_RDMC_INVALID_OPTION */
export function checkEtcdOptions(options: EtcdStoreOptions): CheckedEtcdOptions {
  const where = 'EtcdStore.open';
  onlyKnownOptions(where, options, KNOWN);
  const { user, password, waitMs = 0, prefix = DEFAULT_PREFIX } = options;
  if ((user === undefined) !== (password === undefined))
    throw invalidOption(`${where}: user and password go together`);
  if (waitMs !== Number.POSITIVE_INFINITY) integerOption(where, 'waitMs', waitMs, 0, Number.MAX_SAFE_INTEGER);
  return {
    endpoints: checkEndpoints(where, options.endpoints),
    prefix: textOption(where, 'prefix', prefix),
    credentials: user === undefined ? undefined : { name: user, password: password! },
    tls: options.tls,
    timeoutMs: integerOption(where, 'timeoutMs', options.timeoutMs ?? DEFAULT_TIMEOUT_MS, 1, MAX_TIMEOUT_MS),
    leadMs: integerOption(where, 'leadMs', options.leadMs ?? DEFAULT_LEAD_MS, MIN_LEAD_MS, MAX_LEAD_MS),
    waitMs,
    signal: options.signal,
    name: options.name,
    logger: options.logger,
  };
}

function checkEndpoints(where: string, endpoints: unknown): URL[] {
  if (!Array.isArray(endpoints) || endpoints.length === 0)
    throw invalidOption(`${where}: needs endpoints: a list of addresses such as http://127.0.0.1:2379`);
  return endpoints.map((endpoint: unknown) => {
    const url = typeof endpoint === 'string' && URL.canParse(endpoint) ? new URL(endpoint) : undefined;
    if (url?.protocol === 'http:' || url?.protocol === 'https:') return url;
    throw invalidOption(`${where}: an endpoint is http://HOST:PORT or https://HOST:PORT, not ${endpoint}`);
  });
}
