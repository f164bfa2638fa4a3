import type { Device, MemoryRegion } from '@rdmc/verbs';
import { median } from '../statistics.js';

const ROUNDS = 5;

/** Seconds that one thread of this process needs to copy the message once, block by block, in warm memory. */
export function timeOneCopy(
  device: Device,
  from: MemoryRegion,
  to: MemoryRegion,
  byteLength: number,
  blockBytes: number,
): number {
  const times: number[] = [];
  for (let round = 0; round <= ROUNDS; round += 1) {
    const start = performance.now();
    for (let offset = 0; offset < byteLength; offset += blockBytes) {
      const length = Math.min(blockBytes, byteLength - offset);
      device.copy(to.address + offset, from.address + offset, length);
    }
    // The first round warms the target.
    if (round > 0) times.push((performance.now() - start) / 1000);
  }
  return median(times);
}
