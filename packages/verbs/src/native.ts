/** The interface of the native addon. Only this package calls it. */
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import type { DeviceEvent } from './device-event.js';
import { VerbsError, type VerbsErrorCode } from './errors.js';
import { loadAddon } from './load-addon.js';
import type { SurveyedDevice } from './surveyed-device.js';

/** Handles are process-wide: any thread that loads the addon may use them. */
export interface NativeBinding {
  readonly constants: Record<string, Record<string, number>>;
  /** From now on `make` creates the addon's errors in this thread; `errno` and `syscall` for failed system calls. */
  errorsBy(make: (code: VerbsErrorCode, message: string, errno?: number, syscall?: string) => Error): void;
  softOpen(options: {
    transport: string;
    host: string;
    port: number;
    key: Uint8Array | undefined;
    /** Bits per second; 0: as fast as the machine. */
    linkRate: number;
  }): number;
  /** Throws ERR_RDMC_IBVERBS_NOT_BUILT, ERR_RDMC_IBVERBS_MISSING, ERR_RDMC_IBVERBS_TOO_OLD. */
  ibverbsSurvey(library: string): { library: string; devices: SurveyedDevice[] };
  ibverbsOpen(options: {
    library: string;
    device: string;
    port: number;
    gidIndex: number;
    /** 0: the largest that the port carries. */
    pathMtuBytes: number;
  }): number;
  /** Adds a listener to the device's asynchronous events; its eventfd is readable when `eventsTake` has events. */
  eventsSubscribe(device: number): number;
  eventsFd(device: number, subscription: number): number;
  eventsTake(device: number, subscription: number): DeviceEvent[];
  eventsUnsubscribe(device: number, subscription: number): void;
  deviceAttach(device: number): void;
  deviceInfo(device: number): {
    kind: string;
    name: string;
    transport: string;
    port: number;
    attributes: Record<string, number | boolean>;
    details: Record<string, string>;
  };
  deviceClose(device: number): void;
  deviceCounters(device: number): Record<string, number>;
  /** Throws ERR_RDMC_UNSUPPORTED on RDMA devices. */
  deviceTearWrites(device: number, afterBytes: number, kill: boolean): void;

  protectionDomainCreate(device: number): number;
  protectionDomainDestroy(device: number, pd: number): void;

  /** Resolves to the region's handle; with `populated` once its pages are faulted in. */
  regionAllocate(
    device: number,
    pd: number,
    byteLength: number,
    access: number,
    hostAccess: boolean,
    populated: boolean,
  ): Promise<number>;
  /** Faults the pages of an allocated region in. */
  regionPopulate(device: number, region: number): Promise<void>;
  /** Keeps the view alive until the region or the device is closed, or this thread ends, which closes the region. */
  regionRegister(device: number, pd: number, view: Uint8Array, access: number): number;
  /** The caller keeps the descriptor. */
  regionRegisterDmabuf(
    device: number,
    pd: number,
    fd: number,
    offset: number,
    byteLength: number,
    access: number,
  ): number;
  regionInfo(
    device: number,
    region: number,
  ): {
    address: number;
    length: number;
    lkey: number;
    rkey: number;
    /** Bits of `Access`. */
    access: number;
    shareable: boolean;
    hostAccess: boolean;
    outstanding: number;
  };
  /** An ArrayBuffer over the region's memory, which stays mapped until the buffer is detached or collected. */
  regionBuffer(device: number, region: number, offset: number, length: number): ArrayBuffer;
  /** Counts one more use of the region, as an outstanding request does; `regionLetGo` ends it. */
  regionHold(device: number, region: number): void;
  regionLetGo(device: number, region: number): void;
  /** Revokes remote access: a barrier; after it returns no peer changes a byte. Local use stays allowed. */
  regionRevoke(device: number, region: number): void;
  /** Throws ERR_RDMC_REGION_BUSY while requests are outstanding. A barrier like revoke. */
  regionClose(device: number, region: number): void;
  detach(buffer: ArrayBuffer): void;

  channelCreate(device: number): number;
  channelFd(device: number, channel: number): number;
  channelDrain(device: number, channel: number): void;
  channelDestroy(device: number, channel: number): void;

  completionQueueCreate(device: number, depth: number, channel: number): number;
  completionQueueDestroy(device: number, cq: number): void;
  /** The hot functions of a queue, each bound to it; `channel`: -1 if it has none. */
  completionQueueFunctions(
    device: number,
    cq: number,
    channel: number,
    batch: Uint8Array,
  ): CompletionQueueFunctions;
  /** As the bound function, but it throws if the queue is closed. */
  completionQueueArm(device: number, cq: number, solicitedOnly: boolean): void;

  sharedReceiveQueueCreate(device: number, pd: number, depth: number): number;
  sharedReceiveQueueDestroy(device: number, queue: number): void;

  queuePairCreate(
    device: number,
    pd: number,
    sendCq: number,
    recvCq: number,
    sendDepth: number,
    recvDepth: number,
    signalAll: boolean,
    sharedReceiveQueue: number,
  ): number;
  queuePairAddress(device: number, qp: number): Record<string, string | number | null>;
  queuePairConnect(
    device: number,
    qp: number,
    remote: Record<string, string | number | null>,
    rnrRetries: number,
    rnrTimerMs: number,
    retryTimeoutMs: number,
    weight: number,
    trafficClass: number,
    serviceLevel: number,
  ): Promise<void>;
  queuePairState(device: number, qp: number): number;
  queuePairTransport(device: number, qp: number): string;
  queuePairAttributes(device: number, qp: number): Record<string, number>;
  queuePairDataInOrder(device: number, qp: number): boolean;
  /** Moves to the error state: a barrier. Posted requests complete as flushed. */
  queuePairError(device: number, qp: number): void;
  queuePairDestroy(device: number, qp: number): void;

  /** Binds a submission batch: the returned function posts `batch` slots 0..count-1, count in word 0 of `control`. Returns the number of refused requests, or 2^32 - 1 if the device is closed. */
  submissionDoorbell(device: number, batch: Uint8Array, control: Uint32Array): () => number;

  /** Copies inside this process between registered memory, by address. Both ranges are checked. */
  copy(device: number, toAddress: number, fromAddress: number, byteLength: number): void;

  /** Closed by `fdClose`, or at the end of this thread; so are timerfds. */
  eventfdCreate(): number;
  /** A function without arguments that adds 1 to the eventfd. */
  eventfdSignal(fd: number): () => void;
  timerfdCreate(): number;
  timerfdStart(fd: number): (microseconds: number) => void;
  /** Does nothing if it is closed. */
  fdClose(fd: number): void;
  /** Calls back on this thread's event loop when fd is readable; the eventfd is drained first. */
  fdWatch(fd: number, callback: () => void): number;
  /** As `fdWatch`, for a completion channel: its events are read and acknowledged first. */
  channelWatch(device: number, channel: number, callback: () => void): number;
  fdUnwatch(watcher: number): void;
  fdRef(watcher: number, keepsLoopAlive: boolean): void;

  /** Yields the processor to another runnable thread; returns the nanoseconds until this thread ran again. */
  yieldProcessor(): number;
  /** CPU time of the calling thread, in seconds. */
  threadCpuSeconds(): number;
  /** One thread's blockwise copy between two fresh shared mappings, seconds; used by `rdmc bench`. */
  copyBenchmark(totalBytes: number, blockBytes: number, threads: number): number;
}

/** What a thread does with its completion queue all the time. A closed queue has no completions. */
export interface CompletionQueueFunctions {
  /** Fills the batch; returns how many completions it wrote. */
  readonly poll: () => number;
  /** Returns false if the queue is closed. */
  readonly arm: (solicitedOnly: boolean) => boolean;
  /** Polls; if nothing is there, sleeps until the channel has an event, or for that long (-1: no limit), and polls again. */
  readonly wait?: (timeoutMs: number) => number;
}

const require = createRequire(import.meta.url);
let loaded: NativeBinding | undefined;

/** The addon, which the first call loads. @throws VerbsError as {@link loadAddon} */
export function native(): NativeBinding {
  loaded ??= load();
  return loaded;
}

/** Closing an object that was closed with its device is not an error. */
export function closeUnlessGone(close: () => void): void {
  try {
    close();
  } catch (error) {
    if ((error as { code?: string }).code !== 'ERR_RDMC_DEVICE_CLOSED') throw error;
  }
}

function load(): NativeBinding {
  const built = fileURLToPath(new URL('../native/build/Release/rdmc_verbs.node', import.meta.url));
  const binding = loadAddon(built, (candidate) => require(candidate)) as NativeBinding;
  binding.errorsBy((code, message, errno, syscall) => new VerbsError(code, message, { errno, syscall }));
  return binding;
}
