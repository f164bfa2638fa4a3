import type { Cast, CastProgress } from '@rdmc/cast';
import { temporaryDirectory } from '@rdmc/testing';
import { seededBytes, write } from './tree.js';

/** A tree of files, `root`, and the directory that it is in. */
export function sourceTree(bytes = 4_000_000): string {
  const from = temporaryDirectory();
  write(from, 'root/large', seededBytes(bytes, 1));
  for (let number = 0; number < 50; number += 1)
    write(from, `root/small/${number}`, seededBytes(number * 100, number));
  return from;
}

/** Waits for a snapshot that fits. */
export async function until(cast: Cast, fits: (progress: CastProgress) => boolean): Promise<void> {
  for await (const progress of cast) if (fits(progress)) return;
  throw new Error('the cast ended before');
}

/** Whether a receiver has received so many bytes. */
export const someReceived =
  (index: number, bytes = 500_000) =>
  ({ receivers }: CastProgress): boolean =>
    receivers[index]!.receivedBytes >= bytes;

/** So slow that there is time for something to happen in the middle. */
export const slow = { messageBytes: 1 << 18, bandwidthLimit: 2_000_000 };
