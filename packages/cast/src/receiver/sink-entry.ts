import type { SinkEntry } from '../entry-sink.js';
import type { Timestamp } from '../stream/records.js';

/** What every entry of a cast has. */
export type CastFacts = Pick<SinkEntry, 'castId' | 'from'>;

/** A file as the writer's thread announces it. */
interface AnnouncedFile<Size> {
  readonly path: Uint8Array;
  readonly size: Size;
  readonly mode: number;
  readonly time: Timestamp;
}

/** The entry of a file for the application. */
export function sinkEntryOf<Size extends SinkEntry['size']>(
  facts: CastFacts,
  { path, size, mode, time }: AnnouncedFile<Size>,
): SinkEntry & { readonly size: Size } {
  const modified = new Date(time.seconds * 1000 + time.nanoseconds / 1e6);
  return { ...facts, path: Buffer.from(path).toString('utf8'), pathBytes: path, size, mode, modified };
}
