import type { Logger } from '@rdmc/common';
import type { Transport } from '@rdmc/verbs';
import { DEFAULT_CONNECT_TIMEOUT_MS, MAX_TIMER_MS } from '../constants.js';
import {
  choiceOption,
  integerOption,
  portsOption,
  signalOption,
  TRANSPORTS,
  textOption,
} from '../options.js';
import type { PortRange } from '../ports.js';

/** The options that `serveFiles` and `fetchFiles` have in common. */
export interface EndOptions {
  /** Ports, both included, that (other) fetchers connect to: two for each name at a time. Default: any. */
  readonly meshPorts?: readonly [first: number, last: number] | undefined;
  /** How long the other end may take to answer, or to join, in milliseconds (default 10,000). */
  readonly connectTimeoutMs?: number | undefined;
  /** 'auto' (default) or a kind of device of `openDevice`; the server and all fetchers must have devices of the same kind. */
  readonly device?: string | undefined;
  /** 'auto' (default), 'shm' or 'tcp': how the soft device reaches its peers. */
  readonly transport?: Transport | undefined;
  /** Aborting it closes the server, or ends the fetch; a later fetch continues it. */
  readonly signal?: AbortSignal | undefined;
  /** Reports fetchers and groups that failed, and refused connections; default: none. */
  readonly logger?: Logger | undefined;
}

export const END_OPTIONS = [
  'meshPorts',
  'connectTimeoutMs',
  'device',
  'transport',
  'signal',
  'logger',
] as const satisfies readonly (keyof EndOptions)[];

export interface CheckedEndOptions {
  readonly meshPorts: PortRange | undefined;
  readonly connectTimeoutMs: number;
  readonly device: string;
  readonly transport: Transport;
  readonly signal: AbortSignal | undefined;
  readonly logger: Logger | undefined;
}

/** @throws CastError with the code of the wrong option */
export function checkEndOptions(where: string, options: EndOptions): CheckedEndOptions {
  const timeoutMs = options.connectTimeoutMs ?? DEFAULT_CONNECT_TIMEOUT_MS;
  return {
    meshPorts: portsOption(where, options.meshPorts),
    connectTimeoutMs: integerOption(where, 'connectTimeoutMs', timeoutMs, 1, MAX_TIMER_MS),
    device: textOption(where, 'device', options.device ?? 'auto'),
    transport: choiceOption(where, 'transport', options.transport ?? 'auto', TRANSPORTS),
    signal: signalOption(where, options.signal),
    logger: options.logger,
  };
}
