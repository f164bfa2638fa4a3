import { Access } from './constants.js';
import type { QueuePairOptions } from './contract.js';
import type { Device } from './device.js';
import { VerbsError } from './errors.js';
import { MemoryRegion } from './memory-region.js';
import { closeUnlessGone, native } from './native.js';
import { integerOption, onlyKnownOptions } from './options.js';
import { QueuePair } from './queue-pair.js';

/** Names of access rights; LOCAL_WRITE is implied by any of the remote ones. */
export interface AccessOptions {
  /** Peers may WRITE (default false). */
  readonly remoteWrite?: boolean;
  /** Peers may READ (default false). */
  readonly remoteRead?: boolean;
  /** Peers may compare-and-swap and fetch-and-add (default false). */
  readonly remoteAtomic?: boolean;
}

function accessBits(where: string, access: AccessOptions = {}): number {
  onlyKnownOptions(where, access, ['remoteWrite', 'remoteRead', 'remoteAtomic']);
  return (
    Access.LOCAL_WRITE |
    (access.remoteWrite ? Access.REMOTE_WRITE : 0) |
    (access.remoteRead ? Access.REMOTE_READ : 0) |
    (access.remoteAtomic ? Access.REMOTE_ATOMIC : 0)
  );
}

/** Regions and queue pairs that may be used together (IBA 10.2.3). */
export class ProtectionDomain {
  #closed = false;
  /** @internal */
  constructor(
    readonly device: Device,
    readonly handle: number,
  ) {}

  /**
   * Memory that peers and all threads of this process can map, faulted in when the promise resolves.
   * Contents are undefined (it may come from a pool).
   * @throws VerbsError ERR_RDMC_INVALID_OPTION, ERR_RDMC_OUT_OF_MEMORY, ERR_RDMC_DEVICE_LIMIT
   */
  async allocate(lengthBytes: number, access?: AccessOptions): Promise<MemoryRegion> {
    integerOption('allocate', 'lengthBytes', lengthBytes, 1, Number.MAX_SAFE_INTEGER);
    const bits = accessBits('allocate', access);
    const handle = await native().regionAllocate(this.device.handle, this.handle, lengthBytes, bits);
    return new MemoryRegion(this.device, handle);
  }

  /**
   * Registers the caller's own memory. On the soft device over shared memory it can be the source of any
   * request and the sink of a READ or atomic, but peers cannot reach it: its `rkey` throws ERR_RDMC_NOT_SHAREABLE.
   * The view must not be detached before the region is closed; the region keeps it alive.
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

  /** @throws VerbsError ERR_RDMC_INVALID_OPTION, ERR_RDMC_DEVICE_LIMIT */
  createQueuePair(options: QueuePairOptions): QueuePair {
    onlyKnownOptions('createQueuePair', options, [
      'sendQueue',
      'receiveQueue',
      'sendDepth',
      'receiveDepth',
      'signalAll',
    ]);
    const limits = this.device.attributes;
    const handle = native().queuePairCreate(
      this.device.handle,
      this.handle,
      options.sendQueue.handle,
      options.receiveQueue.handle,
      integerOption('createQueuePair', 'sendDepth', options.sendDepth ?? 64, 1, limits.maxSendDepth),
      integerOption('createQueuePair', 'receiveDepth', options.receiveDepth ?? 64, 1, limits.maxReceiveDepth),
      options.signalAll ?? false,
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
export function attachProtectionDomain(device: Device, handle: number): ProtectionDomain {
  return new ProtectionDomain(device, handle);
}
