import { MessageChannel } from 'node:worker_threads';

/**
 * Memory that stays allocated behind what is freed: an allocation then takes the memory that was freed before, where freeing the
 * newest one would give its pages back to the system, and the next one would fault them in again.
 */
const KEPT_BUFFERS = 3;

/**
 * Frees the memory of buffers that are not used any more, without waiting for a collection of garbage. Node's ciphers allocate
 * their results, and V8 collects such buffers only after it has about 64 MiB of them.
 */
export class SpentBuffers {
  readonly #pending: ArrayBuffer[] = [];
  readonly #closed = closedPort();

  /** The buffer must not be used afterwards: it becomes empty soon. Does nothing with a view of larger memory. */
  add({ buffer, byteLength }: Buffer): void {
    if (buffer instanceof SharedArrayBuffer || buffer.byteLength !== byteLength) return;
    this.#pending.push(buffer);
    // A port takes over what is transferred through it; a closed one frees it at once.
    if (this.#pending.length > KEPT_BUFFERS) this.#closed.postMessage(null, [this.#pending.shift()!]);
  }
}

function closedPort() {
  const { port1 } = new MessageChannel();
  port1.close();
  return port1;
}
