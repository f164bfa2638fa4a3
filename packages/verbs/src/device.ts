import { CompletionChannel } from './completion-channel.js';
import { CompletionQueue } from './completion-queue.js';
import type { DeviceAttributes, Transport } from './contract.js';
import { VerbsError } from './errors.js';
import { native } from './native.js';
import { integerOption, onlyKnownOptions } from './options.js';
import { ProtectionDomain } from './protection-domain.js';
import { SubmissionQueue } from './submission-queue.js';

export interface OpenDeviceOptions {
  /** 'auto' (default; the environment variable RDMC_DEVICE replaces it) or 'soft'. */
  readonly device?: string;
  /** How the soft device reaches its peers: 'shm' on one host, 'tcp' between hosts, 'auto' (default) decides per peer. */
  readonly transport?: Transport;
  /** Address the soft device's TCP side listens on (default 127.0.0.1, any free port). */
  readonly listen?: { readonly host: string; readonly port?: number };
  /** Secret all peers share, at least 16 bytes; admits their TCP connections by challenge. */
  readonly key?: Uint8Array;
}

/** How `auto` chose, for logs and `rdmc devices`. */
export interface DeviceChoice {
  readonly device: string;
  readonly reason: string;
}

/** What `openDevice` would open. */
export function chooseDevice(requested = 'auto', environment = process.env.RDMC_DEVICE): DeviceChoice {
  const wanted = requested === 'auto' && environment ? environment : requested;
  const origin = wanted === requested ? 'asked for' : 'RDMC_DEVICE asks for it';
  if (wanted === 'soft') return { device: 'soft', reason: origin };
  if (wanted === 'auto') {
    return { device: 'soft', reason: 'the only kind of device this version drives' };
  }
  throw new VerbsError('ERR_RDMC_UNKNOWN_DEVICE', `No device '${wanted}'; known are: soft, auto`);
}

/**
 * An open RDMA device. Usable from any thread of the process: `attachDevice(device.handle)`
 * opens the same device elsewhere. Closed by `close()` or with the thread that opened it.
 */
export class Device {
  readonly kind: string;
  readonly name: string;
  readonly transport: Transport;
  readonly attributes: DeviceAttributes;
  #closed = false;

  /** @internal */
  constructor(
    readonly handle: number,
    readonly choice: DeviceChoice,
    private readonly owner: boolean,
  ) {
    const info = native().deviceInfo(handle);
    this.kind = info.kind;
    this.name = info.name;
    this.transport = info.transport as Transport;
    this.attributes = info.attributes as unknown as DeviceAttributes;
  }

  allocateProtectionDomain(): ProtectionDomain {
    this.#check();
    return new ProtectionDomain(this, native().protectionDomainCreate(this.handle));
  }

  /** A channel that wakes this thread's event loop when an armed completion queue has something. */
  createCompletionChannel(): CompletionChannel {
    this.#check();
    return new CompletionChannel(this, native().channelCreate(this.handle));
  }

  /** @throws VerbsError ERR_RDMC_INVALID_OPTION, ERR_RDMC_DEVICE_LIMIT */
  createCompletionQueue(options: { depth?: number; channel?: CompletionChannel } = {}): CompletionQueue {
    this.#check();
    onlyKnownOptions('createCompletionQueue', options, ['depth', 'channel']);
    const depth = integerOption(
      'createCompletionQueue',
      'depth',
      options.depth ?? 1024,
      1,
      this.attributes.maxCompletionQueueDepth,
    );
    const channel = options.channel?.handle ?? -1;
    return new CompletionQueue(this, native().completionQueueCreate(this.handle, depth, channel), depth);
  }

  /** A batch of work requests of this thread; several may exist, each used by one thread. */
  createSubmissionQueue(): SubmissionQueue {
    this.#check();
    return new SubmissionQueue(this);
  }

  /** Copies between two ranges of registered memory of this device, by address. */
  copy(toAddress: number, fromAddress: number, lengthBytes: number): void {
    native().copy(this.handle, toAddress, fromAddress, lengthBytes);
  }

  /** Counters of the device since it was opened: bytes copied, block copies, wake-ups and the like. */
  counters(): Record<string, number> {
    return native().deviceCounters(this.handle);
  }

  /** Closes queue pairs, queues and regions, newest first; idempotent. An attached device only detaches. */
  close(): Promise<void> {
    if (!this.#closed) {
      this.#closed = true;
      if (this.owner) native().deviceClose(this.handle);
    }
    return Promise.resolve();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #check(): void {
    if (this.#closed) throw new VerbsError('ERR_RDMC_DEVICE_CLOSED', `Device ${this.name} is closed`);
  }
}

/**
 * Opens a device.
 * @throws VerbsError ERR_RDMC_UNKNOWN_DEVICE, ERR_RDMC_PLATFORM, ERR_RDMC_NATIVE_MISSING, ERR_RDMC_SYSTEM
 */
export async function openDevice(options: OpenDeviceOptions = {}): Promise<Device> {
  onlyKnownOptions('openDevice', options, ['device', 'transport', 'listen', 'key']);
  const choice = chooseDevice(options.device);
  const transport = options.transport ?? 'auto';
  if (!['auto', 'shm', 'tcp'].includes(transport)) {
    throw new VerbsError(
      'ERR_RDMC_INVALID_OPTION',
      `openDevice: transport must be auto, shm or tcp, not ${transport}`,
    );
  }
  if (options.key !== undefined && !(options.key instanceof Uint8Array)) {
    throw new VerbsError('ERR_RDMC_INVALID_OPTION', 'openDevice: key must be a Uint8Array');
  }
  if (options.key !== undefined && options.key.byteLength < 16) {
    throw new VerbsError(
      'ERR_RDMC_WEAK_KEY',
      `openDevice: key must have at least 16 bytes, not ${options.key.byteLength}`,
    );
  }
  const handle = native().softOpen({
    transport,
    host: options.listen?.host ?? '127.0.0.1',
    port: integerOption('openDevice', 'listen.port', options.listen?.port ?? 0, 0, 65_535),
    key: options.key,
  });
  return new Device(handle, choice, true);
}

/**
 * Opens in this thread a device that another thread of this process opened; its owner closes it. `choice` is how
 * that thread came to it, where this one wants to know.
 */
export function attachDevice(
  handle: number,
  choice: DeviceChoice = { device: 'soft', reason: 'opened by another thread' },
): Device {
  native().deviceAttach(handle);
  return new Device(handle, choice, false);
}
