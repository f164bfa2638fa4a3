/** How many buffers a backup may grant: what its disk can write while the power supply holds up (Tailwind, section 3.2). */

/** What a backup's grant follows from. */
export interface GrantFacts {
  /** What the disk writes durably, all streams together. */
  readonly bytesPerSecond: number;
  /** How long the machine runs after its power has failed. */
  readonly holdSeconds: number;
  /** Size of a buffer. */
  readonly segmentBytes: number;
  /** The largest grant: the buffers that were configured. */
  readonly buffers: number;
}

/** The buffers whose contents reach the disk in time; 0: not even one does. */
export function grantedBuffers({ bytesPerSecond, holdSeconds, segmentBytes, buffers }: GrantFacts): number {
  return Math.max(0, Math.min(buffers, Math.floor((bytesPerSecond * holdSeconds) / segmentBytes)));
}

/**
 * The grant of a disk whose speed depends on the number of streams that write at once: as many as are granted, since a dump writes
 * all buffers at once.
 * @param measure resolves with the bytes per second that this number of streams write
 */
export async function measuredGrant(
  measure: (streams: number) => Promise<number>,
  facts: Omit<GrantFacts, 'bytesPerSecond'>,
): Promise<{ readonly granted: number; readonly bytesPerSecond: number }> {
  let granted = facts.buffers;
  let bytesPerSecond = await measure(granted);
  for (;;) {
    const next = grantedBuffers({ ...facts, bytesPerSecond });
    if (next >= granted || next === 0) return { granted: Math.min(next, granted), bytesPerSecond };
    granted = next;
    // Fewer streams may be slower together.
    bytesPerSecond = Math.min(bytesPerSecond, await measure(granted));
  }
}
