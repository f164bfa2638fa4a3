import { setImmediate as turn } from 'node:timers/promises';

/** About 50 µs of a memory bus. */
const STEP_BYTES = 256 * 1024;

/** Makes bytes zero, a step per turn of the event loop: 8 MiB at once would keep everything else waiting for milliseconds. */
export async function zero(bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length; at += STEP_BYTES) {
    if (at > 0) await turn();
    bytes.fill(0, at, at + STEP_BYTES);
  }
}
