import { Access } from './constants.js';
import type { OpenDevice, QueuePairOptions } from './contract.js';
import { VerbsError } from './errors.js';
import { MemoryRegion } from './memory-region.js';
import { closeUnlessGone, native } from './native.js';
import { integerOption, onlyKnownOptions } from './options.js';
import { QueuePair } from './queue-pair.js';
import { checkSameDevice } from './same-device.js';
import { SharedReceiveQueue } from './shared-receive-queue.js';

/** Names of access rights; LOCAL_WRITE is implied by any of the remote ones. */
export interface AccessOptions {
  /** Peers may WRITE (default false). */
  readonly remoteWrite?: boolean;
  /** Peers may READ (default false). */
  readonly remoteRead?: boolean;
  /** Peers may compare-and-swap and fetch-and-add (default false). */
  readonly remoteAtomic?: boolean;
  /**
   * The device may place bytes in any order (default false). This is faster on some machines; then neither the order
   * of a WRITE's bytes nor the order of WRITEs is defined until their completion.
   * Devices that do not support it ignore it.
   */
  readonly relaxedOrdering?: boolean;
}

/** Options of `allocate`: access rights, and whether the program itself can use the memory. */
export interface AllocateOptions extends AccessOptions {
  /**
   * The program can read and write the memory (default true). With false only the device, and peers, can, as with memory of
   * a GPU: its addresses are mapped PROT_NONE, and `view` fails. The soft device supports it; RDMA devices do not, because
   * `registerDmabuf` is for them.
   */
  readonly hostAccess?: boolean;
  /**
   * All pages are faulted in when the promise resolves (default true). With false the soft device faults each one in at its first
   * use, unless `region.populate` was earlier; then a machine without memory ends the process that uses the page. RDMA devices
   * always fault memory in.
   */
  readonly populated?: boolean;
}

function accessBits(where: string, access: AccessOptions = {}): number {
  onlyKnownOptions(where, access, ['remoteWrite', 'remoteRead', 'remoteAtomic', 'relaxedOrdering']);
  return (
    Access.LOCAL_WRITE |
    (access.remoteWrite ? Access.REMOTE_WRITE : 0) |
    (access.remoteRead ? Access.REMOTE_READ : 0) |
    (access.remoteAtomic ? Access.REMOTE_ATOMIC : 0) |
    (access.relaxedOrdering ? Access.RELAXED_ORDERING : 0)
  );
}

/** Regions and queue pairs that may be used together (IBA 10.2.3). */
export class ProtectionDomain {
  #closed = false;
  /** @internal */
  constructor(
    /** The device that it belongs to. */
    readonly device: OpenDevice,
    /** Identifies it in calls of the addon; valid in all threads. */
    readonly handle: number,
  ) {}

  /**
   * Memory that peers and all threads of this process can map, by default faulted in when the promise resolves.
   * Contents are undefined (it may come from a pool).
   * @throws VerbsError ERR_RDMC_INVALID_OPTION, ERR_RDMC_OUT_OF_MEMORY, ERR_RDMC_DEVICE_LIMIT; ERR_RDMC_UNSUPPORTED for
   *   memory without host access on an RDMA device
   */
  async allocate(byteLength: number, options: AllocateOptions = {}): Promise<MemoryRegion> {
    integerOption('allocate', 'byteLength', byteLength, 1, Number.MAX_SAFE_INTEGER);
    const { hostAccess = true, populated = true, ...access } = options;
    const bits = accessBits('allocate', access);
    if (typeof hostAccess !== 'boolean' || typeof populated !== 'boolean') {
      throw new VerbsError(
        'ERR_RDMC_INVALID_OPTION',
        'allocate: hostAccess and populated must be true or false',
      );
    }
    const handle = await native().regionAllocate(
      this.device.handle,
      this.handle,
      byteLength,
      bits,
      hostAccess,
      populated,
    );
    return new MemoryRegion(this.device, handle);
  }

  /**
   * Registers the caller's own memory. On the soft device over shared memory it can be the source of any
   * request and the sink of a READ or atomic, but peers cannot reach it: its `rkey` throws ERR_RDMC_NOT_SHAREABLE.
   * The region keeps the view alive, and is closed when the thread that registered it ends: queue pairs whose requests still use it
   * fail. Its ArrayBuffer cannot be posted to another thread by a transfer from then on, and must not be detached before the region is
   * closed in the ways that cannot be prevented: `ArrayBuffer.prototype.transfer`, and `grow` of a `WebAssembly.Memory`.
   * Memory of `allocate` has no such limits.
   */
  register(view: Uint8Array, access?: AccessOptions): MemoryRegion {
    if (!(view instanceof Uint8Array) || view.byteLength === 0) {
      throw new VerbsError('ERR_RDMC_INVALID_OPTION', 'register: needs a Uint8Array of at least one byte');
    }
    if (
      (view.buffer as { resizable?: boolean }).resizable ||
      (view.buffer as { growable?: boolean }).growable
    ) {
      throw new VerbsError(
        'ERR_RDMC_INVALID_OPTION',
        'register: memory that can be resized cannot be registered',
      );
    }
    const bits = accessBits('register', access);
    const handle = native().regionRegister(this.device.handle, this.handle, view, bits);
    return new MemoryRegion(this.device, handle, view);
  }

  /**
   * Registers memory of another device, such as a GPU, by its dma-buf (ibv_reg_dmabuf_mr). It is addressed by the
   * offset within the dma-buf, and the program cannot access it (`hostAccess` is false). The descriptor may be closed afterwards.
   * @throws VerbsError ERR_RDMC_UNSUPPORTED if device, driver or library do not support it
   */
  registerDmabuf(
    dmabuf: { readonly fd: number; readonly byteLength: number; readonly offset?: number },
    access?: AccessOptions,
  ): MemoryRegion {
    onlyKnownOptions('registerDmabuf', dmabuf, ['fd', 'byteLength', 'offset']);
    const { MAX_SAFE_INTEGER } = Number;
    const handle = native().regionRegisterDmabuf(
      this.device.handle,
      this.handle,
      integerOption('registerDmabuf', 'fd', dmabuf.fd, 0, 0x7fff_ffff),
      integerOption('registerDmabuf', 'offset', dmabuf.offset ?? 0, 0, MAX_SAFE_INTEGER),
      integerOption('registerDmabuf', 'byteLength', dmabuf.byteLength, 1, MAX_SAFE_INTEGER),
      accessBits('registerDmabuf', access),
    );
    return new MemoryRegion(this.device, handle);
  }

  /**
   * Receives that many queue pairs share.
   * @throws VerbsError ERR_RDMC_UNSUPPORTED, ERR_RDMC_DEVICE_LIMIT, ERR_RDMC_INVALID_OPTION
   */
  createSharedReceiveQueue(options: { depth?: number } = {}): SharedReceiveQueue {
    onlyKnownOptions('createSharedReceiveQueue', options, ['depth']);
    const depth = integerOption('createSharedReceiveQueue', 'depth', options.depth ?? 256, 1, 1_048_576);
    const number = native().sharedReceiveQueueCreate(this.device.handle, this.handle, depth);
    return new SharedReceiveQueue(this.device, number, depth);
  }

  /** @throws VerbsError ERR_RDMC_INVALID_OPTION, also for a queue of another device; ERR_RDMC_DEVICE_LIMIT */
  createQueuePair(options: QueuePairOptions): QueuePair {
    onlyKnownOptions('createQueuePair', options, [
      'sendQueue',
      'receiveQueue',
      'sendDepth',
      'receiveDepth',
      'signalAll',
      'sharedReceiveQueue',
    ]);
    const { sendQueue, receiveQueue, sharedReceiveQueue } = options;
    checkSameDevice('createQueuePair', 'sendQueue', sendQueue, this.device);
    checkSameDevice('createQueuePair', 'receiveQueue', receiveQueue, this.device);
    if (sharedReceiveQueue)
      checkSameDevice('createQueuePair', 'sharedReceiveQueue', sharedReceiveQueue, this.device);
    const limits = this.device.attributes;
    const handle = native().queuePairCreate(
      this.device.handle,
      this.handle,
      sendQueue.handle,
      receiveQueue.handle,
      integerOption('createQueuePair', 'sendDepth', options.sendDepth ?? 64, 1, limits.maxSendDepth),
      integerOption('createQueuePair', 'receiveDepth', options.receiveDepth ?? 64, 1, limits.maxReceiveDepth),
      options.signalAll ?? false,
      sharedReceiveQueue?.number ?? 0,
    );
    return new QueuePair(this.device, handle);
  }

  /** Fails with ERR_RDMC_PROTECTION_DOMAIN_BUSY while regions or queue pairs of it exist; idempotent. */
  close(): Promise<void> {
    if (!this.#closed) {
      closeUnlessGone(() => native().protectionDomainDestroy(this.device.handle, this.handle));
      this.#closed = true;
    }
    return Promise.resolve();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/** Opens in this thread a protection domain of an attached device, by its handle; its owner closes it. */
export function attachProtectionDomain(device: OpenDevice, handle: number): ProtectionDomain {
  return new ProtectionDomain(device, handle);
}
