import type { Progress } from './errors.js';
import { type ChannelMemory, Counter } from './layout/channel-memory.js';

/** Counts since the channel was created. Reading them does not cost time on the hot path. */
export interface ChannelCounters {
  /** Slots written (counted once however many responders) or delivered. */
  readonly slots: number;
  /** Bytes of payload in these slots. */
  readonly bytes: number;
  /** Bitmap READs, and those of them that showed nothing new. */
  readonly reads: number;
  /** READs that showed nothing new. */
  readonly fruitlessReads: number;
  /** Bitmaps pushed to responders. */
  readonly pushes: number;
  /** Looks at a pushed bitmap in local memory, and those that showed nothing new. */
  readonly looks: number;
  /** Looks that showed nothing new. */
  readonly fruitlessLooks: number;
  /** Confirmations of single slots (confirmation per work request). */
  readonly confirmations: number;
  /** Events to the application's thread. */
  readonly events: number;
  /** Pauses on a timer while idle. */
  readonly pauses: number;
  /** The progress with each peer. */
  readonly peers: readonly Progress[];
}

export function readChannelCounters(
  { counters }: ChannelMemory,
  peers: readonly Progress[],
): ChannelCounters {
  return {
    slots: counters[Counter.SLOTS]!,
    bytes: counters[Counter.BYTES]!,
    reads: counters[Counter.READS]!,
    fruitlessReads: counters[Counter.FRUITLESS_READS]!,
    pushes: counters[Counter.PUSHES]!,
    looks: counters[Counter.LOOKS]!,
    fruitlessLooks: counters[Counter.FRUITLESS_LOOKS]!,
    confirmations: counters[Counter.CONFIRMATIONS]!,
    events: counters[Counter.EVENTS]!,
    pauses: counters[Counter.PAUSES]!,
    peers,
  };
}
