import { setImmediate } from 'node:timers/promises';
import type { Device, MemoryRegion } from '@rdmc/verbs';
import { median } from '../statistics.js';

const ROUNDS = 5;

/** A message in memory, and memory for another one. */
interface Copy {
  readonly from: MemoryRegion;
  readonly to: MemoryRegion;
  readonly byteLength: number;
  readonly blockBytes: number;
}

function copy(device: Device, { from, to, byteLength, blockBytes }: Copy): void {
  for (let offset = 0; offset < byteLength; offset += blockBytes) {
    const length = Math.min(blockBytes, byteLength - offset);
    device.copy(to.address + offset, from.address + offset, length);
  }
}

/**
 * Seconds that one thread of this process needs to copy the message once, block by block, in warm memory. Between two
 * copies the event loop handles Ctrl-C.
 * @throws the reason of the signal
 */
export async function timeOneCopy(device: Device, message: Copy, signal: AbortSignal): Promise<number> {
  const times: number[] = [];
  for (let round = 0; round <= ROUNDS; round += 1) {
    const start = performance.now();
    copy(device, message);
    // The first round warms the target.
    if (round > 0) times.push((performance.now() - start) / 1000);
    await setImmediate();
    signal.throwIfAborted();
  }
  return median(times);
}
