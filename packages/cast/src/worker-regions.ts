import { attachDevice, attachRegion, type Device } from '@rdmc/verbs';

/** The memory of messages in a worker, by the handles of its regions. The application's thread owns the regions. */
export class WorkerRegions {
  readonly #buffers = new Map<number, Buffer>();
  readonly #device: Device;

  constructor(deviceHandle: number) {
    this.#device = attachDevice(deviceHandle);
  }

  buffer(handle: number, byteLength: number): Buffer {
    let buffer = this.#buffers.get(handle);
    if (buffer === undefined) {
      const view = attachRegion(this.#device, handle).view();
      buffer = Buffer.from(view.buffer, view.byteOffset, view.length);
      this.#buffers.set(handle, buffer);
    }
    return buffer.subarray(0, byteLength);
  }
}
