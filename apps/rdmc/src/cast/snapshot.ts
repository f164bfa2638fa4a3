import type { CastProgress, ReceiverProgress } from '@rdmc/cast';

/** What the views compute from a snapshot of a cast. */

export function isFailed({ state }: ReceiverProgress): boolean {
  return state === 'failed';
}

export function isComplete({ state }: ReceiverProgress): boolean {
  return state === 'complete';
}

/** Receivers that a cast still counts on. */
export function living({ receivers }: CastProgress): readonly ReceiverProgress[] {
  return receivers.filter((receiver) => !isFailed(receiver));
}

/** Bytes stored at a receiver; all of them once it is complete. */
export function storedAt(receiver: ReceiverProgress, { totalBytes }: CastProgress): number {
  return isComplete(receiver) ? totalBytes : receiver.storedBytes;
}

/** Bytes stored by a living receiver, on average: what rate and time left are computed from. */
export function averageStored(snapshot: CastProgress): number {
  const alive = living(snapshot);
  if (alive.length === 0) return 0;
  return alive.reduce((sum, receiver) => sum + storedAt(receiver, snapshot), 0) / alive.length;
}
