import { constants } from 'node:os';
import { type Key, type Subscription, Tracer } from '@rdmc/common';
import { chooseDevice, type DeviceChoice } from './choose.js';
import { CompletionChannel } from './completion-channel.js';
import { CompletionQueue } from './completion-queue.js';
import type { DeviceAttributes, Transport } from './contract.js';
import type { DeviceEvent } from './device-event.js';
import { DeviceEventListener, type Listening } from './device-events.js';
import { MAX_GID_INDEX, readEnvironment } from './environment.js';
import { VerbsError } from './errors.js';
import { native } from './native.js';
import { booleanOption, choiceOption, integerOption, onlyKnownOptions } from './options.js';
import { ProtectionDomain } from './protection-domain.js';
import { checkSameDevice } from './same-device.js';
import { softDeviceKey } from './soft-device-key.js';
import { SubmissionQueue, type SubmissionQueueOptions } from './submission-queue.js';

const openTrace = new Tracer<{ readonly device: string }>('@rdmc/verbs:open');

/** The options of `openDevice`. */
export interface OpenDeviceOptions {
  /**
   * 'auto' (default; the environment variable RDMC_DEVICE replaces it): an RDMA device if one is usable, else
   * the soft device. 'soft', 'ibverbs' (any RDMA device), or the name of one, such as 'mlx5_0'.
   */
  readonly device?: string;
  /** Port of an RDMA device, from 1 (default: RDMC_PORT, else the first active one). */
  readonly port?: number;
  /** Address of that port (default: RDMC_GID_INDEX, else RoCE v2 over IPv4, over IPv6, over link-local IPv6). */
  readonly gidIndex?: number;
  /** Longest packet of an RDMA device: 256, 512, 1024, 2048 or 4096 bytes (default: what both ports carry). */
  readonly pathMtuBytes?: number;
  /** Transport of the soft device: 'shm' on one host, 'tcp' between hosts, 'auto' (default) decides per peer. */
  readonly transport?: Transport;
  /**
   * Address the soft device's TCP side listens on (default 127.0.0.1, any free port). With `lastPort`, the first free port
   * from `port` to that one.
   */
  readonly listen?: ListenAddress;
  /**
   * Rate of the soft device's link in bits per second, for each direction, from 10^6 to 10^12 (default: as fast as the
   * machine). All queue pairs of the device share it. Only with `transport: 'tcp'`. For demonstrations and tests: devices
   * on one host behave as if each had a link of its own.
   */
  readonly linkRate?: number;
  /** An earlier result of `chooseDevice`: it is used as it is, without another survey. */
  readonly choice?: DeviceChoice;
  /**
   * Secret of all peers of the soft device, at least 16 bytes; each connection, over TCP or a Unix socket, proves it
   * by challenge. Default: on loopback and over shared memory the key of the user, so that processes of other users are
   * refused; a device that listens beyond loopback needs a key, or `insecure`.
   */
  readonly key?: Key;
  /**
   * Do not use any key (default false): every local process of this user, and every process that reaches the TCP port,
   * may connect. All peers must set it.
   */
  readonly insecure?: boolean;
}

/** Where the soft device's TCP side listens. */
export interface ListenAddress {
  /** The address to listen on. */
  readonly host: string;
  /** 0 (default): any free port. */
  readonly port?: number;
  /** Not below `port`, which is not 0 then. Default: `port`. */
  readonly lastPort?: number;
}

/**
 * An open RDMA device. Usable from any thread of the process: `attachDevice(device.handle)`
 * opens the same device elsewhere. Closed by `close()` or with the thread that opened it.
 */
export class Device {
  /** Which implementation it is, such as 'soft'. */
  readonly kind: string;
  /** Its name, such as 'soft' or 'mlx5_0'. */
  readonly name: string;
  /** Of the soft device its option `transport`; of an RDMA device 'roce' or 'infiniband'. */
  readonly transport: Transport | 'roce' | 'infiniband';
  /** More about an RDMA device, for logs: library, port, GID, MTU. */
  readonly details: Readonly<Record<string, string>>;
  /** Its limits and abilities. */
  readonly attributes: DeviceAttributes;
  /** Of this thread: its own listeners, and those of its channels. */
  readonly #listening = new Set<Listening>();
  #closed = false;

  /** @internal */
  constructor(
    /** Identifies it for `attachDevice`; valid in all threads of the process. */
    readonly handle: number,
    /** Why this device was opened. */
    readonly choice: DeviceChoice,
    private readonly owner: boolean,
  ) {
    const info = native().deviceInfo(handle);
    this.kind = info.kind;
    this.name = info.name;
    this.transport = info.transport as Device['transport'];
    this.details = info.details;
    this.attributes = info.attributes as unknown as DeviceAttributes;
  }

  /**
   * Creates a protection domain: regions and queue pairs of one work together.
   * @throws VerbsError ERR_RDMC_DEVICE_CLOSED
   */
  allocateProtectionDomain(): ProtectionDomain {
    this.#check();
    return new ProtectionDomain(this, native().protectionDomainCreate(this.handle));
  }

  /** A channel that wakes this thread's event loop when an armed completion queue has a completion. */
  createCompletionChannel(): CompletionChannel {
    this.#check();
    return new CompletionChannel(this, native().channelCreate(this.handle), this.#listening);
  }

  /** @throws VerbsError ERR_RDMC_INVALID_OPTION, also for a channel of another device; ERR_RDMC_DEVICE_LIMIT */
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
    if (options.channel) checkSameDevice('createCompletionQueue', 'channel', options.channel, this);
    const channel = options.channel?.handle ?? -1;
    const queue = native().completionQueueCreate(this.handle, depth, channel);
    return new CompletionQueue(this, queue, depth, channel);
  }

  /** A batch of work requests of this thread; several may exist, each used by one thread. */
  createSubmissionQueue(options: SubmissionQueueOptions = {}): SubmissionQueue {
    this.#check();
    return new SubmissionQueue(this, options);
  }

  /**
   * Calls `listener` on this thread at every asynchronous event of the device: a port that goes down, a queue pair
   * that fails, the device's removal. Does not keep the process alive.
   */
  onEvent(listener: (event: DeviceEvent) => void): Subscription {
    this.#check();
    return new DeviceEventListener(this, listener, this.#listening);
  }

  /** Copies between two ranges of registered memory of this device, by address. */
  copy(toAddress: number, fromAddress: number, byteLength: number): void {
    native().copy(this.handle, toAddress, fromAddress, byteLength);
  }

  /** Counters of the device since it was opened: bytes copied, block copies, wake-ups and the like. */
  counters(): Record<string, number> {
    return native().deviceCounters(this.handle);
  }

  /**
   * Closes queue pairs, queues and regions, newest first, and ends the listeners of this object and of its channels; idempotent.
   * An attached device only detaches: its listeners end.
   */
  close(): Promise<void> {
    if (!this.#closed) {
      this.#closed = true;
      for (const each of this.#listening) each.endListening();
      this.#listening.clear();
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

const PATH_MTUS = [256, 512, 1024, 2048, 4096];
/** Bits per second. */
const LEAST_LINK_RATE = 1e6;
const MOST_LINK_RATE = 1e12;
const MAX_PORT = 65_535;
const KNOWN_OPTIONS = [
  'device',
  'port',
  'gidIndex',
  'pathMtuBytes',
  'transport',
  'listen',
  'linkRate',
  'key',
  'insecure',
  'choice',
];

function checkOptions(options: OpenDeviceOptions): void {
  onlyKnownOptions('openDevice', options, KNOWN_OPTIONS);
  const { transport = 'auto', key, insecure, pathMtuBytes } = options;
  choiceOption('openDevice', 'transport', transport, ['auto', 'shm', 'tcp']);
  if (pathMtuBytes !== undefined && !PATH_MTUS.includes(pathMtuBytes)) {
    throw new VerbsError(
      'ERR_RDMC_INVALID_OPTION',
      `openDevice: pathMtuBytes must be one of ${PATH_MTUS.join(', ')}, not ${pathMtuBytes}`,
    );
  }
  if (options.linkRate !== undefined) checkLinkRate(options.linkRate, transport);
  if (key !== undefined) checkKey(key);
  if (insecure !== undefined) booleanOption('openDevice', 'insecure', insecure);
  if (insecure && key !== undefined) {
    throw new VerbsError(
      'ERR_RDMC_INVALID_OPTION',
      'openDevice: insecure means without a key; give only one of the two',
    );
  }
  if (options.port !== undefined) integerOption('openDevice', 'port', options.port, 1, 255);
  if (options.gidIndex !== undefined)
    integerOption('openDevice', 'gidIndex', options.gidIndex, 0, MAX_GID_INDEX);
}

function checkLinkRate(linkRate: number, transport: string): void {
  integerOption('openDevice', 'linkRate', linkRate, LEAST_LINK_RATE, MOST_LINK_RATE);
  if (transport === 'tcp') return;
  throw new VerbsError(
    'ERR_RDMC_INVALID_OPTION',
    `openDevice: linkRate needs transport: 'tcp', not '${transport}': over shared memory there is not a link`,
  );
}

function checkKey(key: Key): void {
  if (typeof key !== 'string' && !(key instanceof Uint8Array)) {
    throw new VerbsError('ERR_RDMC_INVALID_OPTION', 'openDevice: key must be text or a Uint8Array');
  }
  const { byteLength } = Buffer.from(key);
  if (byteLength >= 16) return;
  throw new VerbsError('ERR_RDMC_WEAK_KEY', `openDevice: key must have at least 16 bytes, not ${byteLength}`);
}

function openSoft(options: OpenDeviceOptions): number {
  const { tearAfterBytes } = readEnvironment();
  const transport = options.transport ?? 'auto';
  const host = options.listen?.host ?? '127.0.0.1';
  const { port, lastPort } = portsOf(options.listen);
  const settings = {
    transport,
    host,
    key: softDeviceKey({ ...options, transport, host }),
    linkRate: options.linkRate ?? 0,
  };
  const handle = firstFree(port, lastPort, (at) => native().softOpen({ ...settings, port: at }));
  if (tearAfterBytes !== undefined) native().deviceTearWrites(handle, tearAfterBytes, true);
  return handle;
}

function portsOf(listen: ListenAddress | undefined): { readonly port: number; readonly lastPort: number } {
  const port = integerOption('openDevice', 'listen.port', listen?.port ?? 0, 0, MAX_PORT);
  if (listen?.lastPort === undefined) return { port, lastPort: port };
  if (port === 0) {
    throw new VerbsError(
      'ERR_RDMC_INVALID_OPTION',
      'openDevice: listen.lastPort needs the first port, listen.port; leave both out for any free port',
    );
  }
  return { port, lastPort: integerOption('openDevice', 'listen.lastPort', listen.lastPort, port, MAX_PORT) };
}

/** Tries one port after the other while another program holds them. */
function firstFree(port: number, lastPort: number, open: (port: number) => number): number {
  for (let at = port; at < lastPort; at += 1) {
    try {
      return open(at);
    } catch (error) {
      if (!isInUse(error)) throw error;
    }
  }
  return open(lastPort);
}

function isInUse(error: unknown): boolean {
  return (error as Partial<VerbsError>).errno === constants.errno.EADDRINUSE;
}

function openIbverbs(options: OpenDeviceOptions, choice: DeviceChoice): number {
  if (options.linkRate !== undefined) {
    throw new VerbsError(
      'ERR_RDMC_INVALID_OPTION',
      `openDevice: linkRate is an option of the soft device; leave it out for device ${choice.device}`,
    );
  }
  return native().ibverbsOpen({
    library: readEnvironment().library,
    device: choice.device,
    port: choice.port!,
    gidIndex: choice.gidIndex!,
    pathMtuBytes: options.pathMtuBytes ?? 0,
  });
}

/**
 * Opens a device. Does not log: `device.choice` has the choice and the reason.
 * @throws VerbsError ERR_RDMC_UNKNOWN_DEVICE, ERR_RDMC_NO_DEVICE, ERR_RDMC_PORT_DOWN, ERR_RDMC_UNKNOWN_PORT,
 *   ERR_RDMC_GID_INDEX, ERR_RDMC_PATH_MTU, ERR_RDMC_PERMISSION, ERR_RDMC_IBVERBS_MISSING, ERR_RDMC_IBVERBS_TOO_OLD,
 *   ERR_RDMC_IBVERBS_NOT_BUILT, ERR_RDMC_INVALID_OPTION, ERR_RDMC_PLATFORM, ERR_RDMC_NATIVE_MISSING, ERR_RDMC_SYSTEM,
 *   ERR_RDMC_NATIVE_BROKEN, ERR_RDMC_OLD_GLIBC, ERR_RDMC_MUSL, ERR_RDMC_OLD_NODE, ERR_RDMC_KEY_REQUIRED,
 *   ERR_RDMC_USER_KEY
 */
export async function openDevice(options: OpenDeviceOptions = {}): Promise<Device> {
  checkOptions(options);
  return openTrace.promise(
    () => ({ device: options.device ?? 'auto' }),
    () => open(options),
  );
}

async function open(options: OpenDeviceOptions): Promise<Device> {
  const choice = options.choice ?? chooseDevice(options);
  const handle = choice.kind === 'soft' ? openSoft(options) : openIbverbs(options, choice);
  return new Device(handle, choice, true);
}

/**
 * Opens in this thread a device that another thread of this process opened; its owner closes it. `choice` is the
 * choice of that thread, if this one needs it.
 */
export function attachDevice(handle: number, choice?: DeviceChoice): Device {
  const addon = native();
  addon.deviceAttach(handle);
  const { kind, name } = addon.deviceInfo(handle);
  const unknown = {
    device: name,
    kind: kind as DeviceChoice['kind'],
    reason: 'opened by another thread',
    isAskedFor: false,
  };
  return new Device(handle, choice ?? unknown, false);
}
