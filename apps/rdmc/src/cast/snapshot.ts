import type { CastProgress, ReceiverProgress } from '@rdmc/cast';

/** Computations of the views on a snapshot of a cast. */

export function isFailed({ state }: ReceiverProgress): boolean {
  return state === 'failed';
}

export function isComplete({ state }: ReceiverProgress): boolean {
  return state === 'complete';
}

/** Receivers that have not failed. */
export function living({ receivers }: CastProgress): readonly ReceiverProgress[] {
  return receivers.filter((receiver) => !isFailed(receiver));
}

/** Bytes stored at a receiver; all of them once it is complete. */
export function storedAt(receiver: ReceiverProgress, { totalBytes }: CastProgress): number {
  return isComplete(receiver) ? totalBytes : receiver.storedBytes;
}

/** Average of the bytes stored at receivers that have not failed: the base of the rate and the remaining time. */
export function averageStored(snapshot: CastProgress): number {
  const alive = living(snapshot);
  if (alive.length === 0) return 0;
  return alive.reduce((sum, receiver) => sum + storedAt(receiver, snapshot), 0) / alive.length;
}
