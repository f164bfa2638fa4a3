import { randomBytes } from 'node:crypto';
import { isIP } from 'node:net';
import type { CastTarget } from '@rdmc/cast';
import { onAbort } from '@rdmc/common';
import { CliError } from '../errors.js';
import { ExitCode } from '../exit-codes.js';
import { formatEndpoint } from '../hosts/endpoint.js';
import { inParallel, lookUpAll } from '../hosts/resolve.js';
import type { Target } from '../hosts/target.js';
import { KEY_BYTES } from '../keys/key.js';
import type { ReceiveEventOf } from '../receive/events.js';
import { chooseAddress } from './choose-address.js';
import { INSTRUCTIONS_VERSION, type Instructions } from './instructions.js';
import type { RemoteOptions } from './options.js';
import { ReceiveProcess } from './receive-process.js';

/** Remote shells that are started concurrently. */
const STARTS_AT_ONCE = 64;

export interface StartRequest {
  readonly targets: readonly Target[];
  readonly remote: RemoteOptions;
  /** Whether receivers end after one cast; false where a retry may follow. */
  readonly once: boolean;
  readonly device: string;
  readonly transport: 'auto' | 'shm' | 'tcp';
  readonly signal: AbortSignal;
  onText(host: string, line: string): void;
  onStarted?(started: StartedReceiver): void;
}

export interface StartedReceiver {
  /** The host as given. */
  readonly name: string;
  readonly to: CastTarget;
  readonly listening: ReceiveEventOf<'listening'>;
}

export interface FailedStart {
  readonly name: string;
  readonly target: Target;
  readonly error: unknown;
}

/** All addresses: of IPv4, unless the host has an IPv6 address. A loopback address is used as it is. */
function listenHost(address: string | undefined): string {
  if (address === undefined) return '0.0.0.0';
  if (address.startsWith('127.') || address === '::1') return address;
  return isIP(address.replace(/%.*/, '')) === 6 ? '::' : '0.0.0.0';
}

/** The name of a device is valid on this machine only: receivers use any of their RDMA devices. */
function remoteDevice(device: string): string {
  return ['auto', 'soft'].includes(device) ? device : 'ibverbs';
}

/** Receivers that this process starts on other hosts, and ends. */
export class RemoteReceivers {
  /** Key of sender and receivers: made for this cast, sent through stdin, and not stored. */
  readonly key = Uint8Array.from(randomBytes(KEY_BYTES));
  readonly started: StartedReceiver[] = [];
  readonly failed: FailedStart[] = [];
  readonly #processes: ReceiveProcess[] = [];
  readonly #onExit = (): void => {
    for (const receiver of this.#processes) receiver.kill('SIGTERM');
  };

  /** Starts one receiver per target. Failures are in `failed`. @throws CliError where no receiver starts */
  static async start(request: StartRequest): Promise<RemoteReceivers> {
    const receivers = new RemoteReceivers();
    process.once('exit', receivers.#onExit);
    const forget = onAbort(request.signal, () => void receivers.close());
    try {
      await receivers.#startAll(request);
      request.signal.throwIfAborted();
      receivers.#checkAny();
      return receivers;
    } catch (error) {
      await receivers.close();
      throw error;
    } finally {
      forget();
    }
  }

  /** Ends all of them; resolves when their remote shells have ended. Idempotent. */
  async close(): Promise<void> {
    await Promise.all(this.#processes.map((receiver) => receiver.close()));
    process.off('exit', this.#onExit);
  }

  async #startAll(request: StartRequest): Promise<void> {
    const found = await lookUpAll(request.targets, request.signal);
    const results = await inParallel(found, STARTS_AT_ONCE, async ({ target, address }) => {
      request.signal.throwIfAborted();
      const name = formatEndpoint({ host: target.host });
      try {
        const started = await this.#startOne(request, target, address, name);
        request.onStarted?.(started);
        return { started };
      } catch (error) {
        return { failed: { name, target, error } };
      }
    });
    for (const { started, failed } of results) {
      if (started) this.started.push(started);
      if (failed) this.failed.push(failed);
    }
  }

  async #startOne(
    request: StartRequest,
    target: Target,
    address: string | undefined,
    name: string,
  ): Promise<StartedReceiver> {
    const { shell, command, timeoutMs } = request.remote;
    const host = formatEndpoint({ ...(target.user && { user: target.user }), host: target.host }).replace(
      /[[\]]/g,
      '',
    );
    const receiver = new ReceiveProcess({
      name,
      argv: [...shell, host, ...command, 'receive', '--controlled'],
      instructions: this.#instructions(request, target, address),
      timeoutMs,
      onText: (line) => request.onText(name, line),
    });
    this.#processes.push(receiver);
    const listening = await receiver.listening;
    const to = address === undefined ? chooseAddress(listening.addresses) : target.host;
    if (to === undefined) throw unknownAddress(name);
    return {
      name,
      listening,
      to: { host: to, port: listening.port, ...(target.rack && { rack: target.rack }) },
    };
  }

  #instructions(request: StartRequest, target: Target, address: string | undefined): Instructions {
    const { directory, makeDirectory, meshPorts, fsync, archive } = request.remote;
    return {
      version: INSTRUCTIONS_VERSION,
      key: Buffer.from(this.key).toString('hex'),
      host: listenHost(address),
      port: target.port ?? 0,
      directory,
      makeDirectory,
      once: request.once,
      fsync,
      archive,
      meshPorts: meshPorts ? [...meshPorts] : null,
      device: remoteDevice(request.device),
      transport: request.transport,
    };
  }

  #checkAny(): void {
    if (this.started.length > 0) return;
    const [first] = this.failed;
    if (this.failed.length === 1) throw first!.error;
    const all = this.failed.map(({ error }) => (error as Error).message).join('\n  ');
    const advice = first?.error instanceof CliError ? first.error.advice : undefined;
    throw new CliError('ERR_RDMC_REMOTE_START', `no receiver could be started:\n  ${all}`, {
      exitCode: ExitCode.MEMBER_LOST,
      ...(advice && { advice }),
      cause: first?.error,
    });
  }
}

function unknownAddress(name: string): CliError {
  const message = `${name}: the name does not resolve here, and the receiver has only loopback addresses`;
  return new CliError('ERR_RDMC_UNKNOWN_HOST', message, {
    exitCode: ExitCode.MEMBER_LOST,
    advice: 'give an address at which this machine reaches it',
  });
}
