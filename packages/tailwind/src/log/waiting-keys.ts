import { decodeObject, keyText } from '../format/payloads.js';
import type { SegmentEntry } from '../format/scan.js';
import type { Segment } from './segment.js';

interface Newest {
  /** The key. */
  readonly text: string;
  readonly version: number;
  readonly segment: Segment;
  readonly offset: number;
  readonly isLive: boolean;
}

/**
 * For keys with a waiting append, the newest objects among the cleaned segments. An application may report such an
 * object dead because of an append that does not have its place yet: if that append failed, the key would be lost.
 */
export class WaitingKeys {
  readonly #newest = new Map<string, Newest>();

  constructor(private readonly queued: ReadonlySet<string>) {}

  note(segment: Segment, { offset, payload }: SegmentEntry, isLive: boolean): void {
    const { key, version } = decodeObject(payload);
    const text = keyText(key);
    if (!this.queued.has(text) || version <= (this.#newest.get(text)?.version ?? -1)) return;
    this.#newest.set(text, { text, version, segment, offset, isLive });
  }

  /** Objects that the application reported dead. */
  superseded(): Newest[] {
    return [...this.#newest.values()].filter(({ isLive }) => !isLive);
  }
}
