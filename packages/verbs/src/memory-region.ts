import { setTimeout as delay } from 'node:timers/promises';
import { markAsUntransferable } from 'node:worker_threads';
import { throwIfAborted } from '@rdmc/common';
import { Access } from './constants.js';
import type { LocalKey, OpenDevice, RemoteKey, RemoteMemory, ScatterGatherEntry } from './contract.js';
import { VerbsError } from './errors.js';
import { closeUnlessGone, native } from './native.js';

/** Interval at which `close` checks whether the last outstanding request has completed. */
const CLOSE_POLL_MS = 1;

/**
 * Registered memory. `address` is its virtual address here, which peers use, too.
 * Views of it become empty when it is closed in the thread that made them.
 */
export class MemoryRegion {
  /** Virtual address of its first byte: the target of peers' WRITEs and READs begins there. */
  readonly address: number;
  /** Length in bytes. */
  readonly byteLength: number;
  /** The key for this device's own requests. */
  readonly lkey: LocalKey;
  readonly #rkey: RemoteKey;
  /** Whether peers may write and read it: always for `allocate`; for `register` it depends on the device. */
  readonly shareable: boolean;
  /**
   * Whether the program can read and write it; false for memory of `registerDmabuf`, and of `allocate` with
   * `hostAccess: false`. Only the device and peers can access such memory: `view` and `device.copy` fail.
   */
  readonly hostAccess: boolean;
  /** Whether peers may WRITE, and this device with the remote key. */
  readonly remoteWrite: boolean;
  #buffers: ArrayBuffer[] = [];
  #whole: ArrayBuffer | undefined;
  #closed = false;

  /** @internal */
  constructor(
    /** The device that it belongs to. */
    readonly device: OpenDevice,
    /** Identifies it in calls of the addon; valid in all threads. */
    readonly handle: number,
    /** Memory given to `register`. The addon keeps it alive until the region is closed, or the device, or this thread ends. */
    private readonly registered?: Uint8Array,
  ) {
    // A transfer would move the memory to an owner whose end the addon does not see, and that frees it.
    if (registered) markAsUntransferable(registered.buffer);
    const info = native().regionInfo(device.handle, handle);
    this.address = info.address;
    this.byteLength = info.length;
    this.lkey = info.lkey as LocalKey;
    this.#rkey = info.rkey as RemoteKey;
    this.shareable = info.shareable;
    this.hostAccess = info.hostAccess;
    this.remoteWrite = (info.access & Access.REMOTE_WRITE) !== 0;
  }

  /**
   * The key with which peers access this region.
   * @throws VerbsError ERR_RDMC_NOT_SHAREABLE for `register`ed memory that peers cannot map
   */
  get rkey(): RemoteKey {
    if (!this.shareable) {
      throw new VerbsError(
        'ERR_RDMC_NOT_SHAREABLE',
        'Other processes cannot map memory given to register(); use allocate() for memory that peers write or read',
      );
    }
    return this.#rkey;
  }

  /** Whether it was closed by this object. */
  get closed(): boolean {
    return this.#closed;
  }

  /** Requests posted with this region that have not completed. */
  get outstanding(): number {
    let outstanding = 0;
    if (!this.#closed) {
      closeUnlessGone(() => {
        outstanding = native().regionInfo(this.device.handle, this.handle).outstanding;
      });
    }
    return outstanding;
  }

  /**
   * Bytes of the region. Offsets beyond 4 GiB are allowed; a view is at most as long as a typed array can be.
   * @throws VerbsError ERR_RDMC_REGION_CLOSED, ERR_RDMC_OUT_OF_BOUNDS, ERR_RDMC_NO_HOST_ACCESS
   */
  view(offset = 0, byteLength = this.byteLength - offset): Uint8Array {
    this.#checkRange(offset, byteLength);
    if (!this.hostAccess) {
      throw new VerbsError(
        'ERR_RDMC_NO_HOST_ACCESS',
        'The program cannot read or write this memory: use it through the device, by work requests',
      );
    }
    if (this.registered) return this.registered.subarray(offset, offset + byteLength);
    if (this.byteLength <= 0x7fff_ffff) {
      this.#whole ??= this.#buffer(0, this.byteLength);
      return new Uint8Array(this.#whole, offset, byteLength);
    }
    return new Uint8Array(this.#buffer(offset, byteLength));
  }

  /**
   * Faults in the pages of a region of `allocate` with `populated: false`, in a thread of its own, the last ones first; it may be
   * used meanwhile.
   * @throws VerbsError ERR_RDMC_REGION_CLOSED, ERR_RDMC_OUT_OF_MEMORY, ERR_RDMC_SYSTEM
   */
  async populate(): Promise<void> {
    this.#checkRange(0, 0);
    await native().regionPopulate(this.device.handle, this.handle);
  }

  /** An entry for a work request's scatter/gather list. */
  sge(offset = 0, byteLength = this.byteLength - offset): ScatterGatherEntry {
    this.#checkRange(offset, byteLength);
    return { address: this.address + offset, byteLength, lkey: this.lkey };
  }

  /** Address and key for a peer's access to this region, or a part of it. */
  remote(offset = 0): RemoteMemory {
    this.#checkRange(offset, 0);
    return { address: this.address + offset, rkey: this.rkey };
  }

  /**
   * Prevents closing the region until the returned hold is disposed of (once; further calls have no effect): for
   * memory of a request that is not posted yet. Counts as an outstanding request.
   * @throws VerbsError ERR_RDMC_REGION_CLOSED
   */
  hold(): Disposable {
    this.#checkRange(0, 0);
    native().regionHold(this.device.handle, this.handle);
    let held = true;
    const release = (): void => {
      if (held) closeUnlessGone(() => native().regionLetGo(this.device.handle, this.handle));
      held = false;
    };
    return { [Symbol.dispose]: release };
  }

  /**
   * Revokes remote access permanently. A barrier: after it returns, no WRITE and no atomic of a peer changes a byte, whatever state
   * that peer's process is in. Local use stays possible: receives with the region, posted before or after, still take messages.
   */
  revoke(): void {
    this.#checkRange(0, 0);
    native().regionRevoke(this.device.handle, this.handle);
  }

  /**
   * Waits until no request uses the region, then frees the memory; idempotent. An abort of `signal`
   * ends the wait with an AbortError and leaves the region open; its requests end by completion, or by
   * flush when their queue pair is closed.
   */
  async close(options: { signal?: AbortSignal } = {}): Promise<void> {
    while (!this.#closed && this.outstanding > 0) {
      throwIfAborted(`Waiting for ${this.outstanding} outstanding requests of a region`, options.signal);
      await delay(CLOSE_POLL_MS);
    }
    this.closeNow();
  }

  /**
   * Frees the memory at once.
   * @throws VerbsError ERR_RDMC_REGION_BUSY while requests are outstanding
   */
  closeNow(): void {
    if (this.#closed) return;
    closeUnlessGone(() => native().regionClose(this.device.handle, this.handle));
    this.#closed = true;
    for (const buffer of this.#buffers) native().detach(buffer);
    this.#buffers = [];
    this.#whole = undefined;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #buffer(offset: number, length: number): ArrayBuffer {
    const buffer = native().regionBuffer(this.device.handle, this.handle, offset, length);
    this.#buffers.push(buffer);
    return buffer;
  }

  #checkRange(offset: number, length: number): void {
    if (this.#closed) throw new VerbsError('ERR_RDMC_REGION_CLOSED', 'The memory region is closed');
    if (!(offset >= 0 && length >= 0 && offset + length <= this.byteLength)) {
      throw new VerbsError(
        'ERR_RDMC_OUT_OF_BOUNDS',
        `Range ${offset}..${offset + length} is outside the region of ${this.byteLength} bytes`,
      );
    }
  }
}

/** Opens in this thread a region of an attached device, by its handle. */
export function attachRegion(device: OpenDevice, handle: number): MemoryRegion {
  return new MemoryRegion(device, handle);
}
