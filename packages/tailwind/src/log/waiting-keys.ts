import { decodeObject, keyText } from '../format/payloads.js';
import type { SegmentEntry } from '../format/scan.js';
import type { Segment } from './segment.js';

interface Newest {
  readonly version: number;
  readonly segment: Segment;
  readonly offset: number;
  readonly isLive: boolean;
}

/**
 * Of keys that an append waits for, the newest objects among the segments that are cleaned. An application may call
 * such an object dead because of an append that has no place yet: if that one were lost, so would be the key.
 */
export class WaitingKeys {
  readonly #newest = new Map<string, Newest>();

  constructor(private readonly queued: ReadonlySet<string>) {}

  note(segment: Segment, { offset, payload }: SegmentEntry, isLive: boolean): void {
    const { key, version } = decodeObject(payload);
    const text = keyText(key);
    if (!this.queued.has(text) || version <= (this.#newest.get(text)?.version ?? -1)) return;
    this.#newest.set(text, { version, segment, offset, isLive });
  }

  /** Those that the application calls dead. */
  superseded(): Newest[] {
    return [...this.#newest.values()].filter(({ isLive }) => !isLive);
  }
}
