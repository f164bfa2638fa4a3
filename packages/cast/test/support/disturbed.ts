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

/** Waits for a snapshot that satisfies `fits`. */
export async function until(cast: Cast, fits: (progress: CastProgress) => boolean): Promise<void> {
  for await (const progress of cast) if (fits(progress)) return;
  throw new Error('the cast ended before a snapshot satisfied the condition');
}

/** Whether a receiver has received at least `bytes`. */
export const someReceived =
  (index: number, bytes = 500_000) =>
  ({ receivers }: CastProgress): boolean =>
    receivers[index]!.receivedBytes >= bytes;

/** Options of a cast that is slow enough to be disturbed in the middle. */
export const slow = { messageBytes: 1 << 18, bandwidthLimit: 2_000_000 };
