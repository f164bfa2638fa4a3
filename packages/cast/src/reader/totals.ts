import type { StreamTotals } from '../stream/records.js';
import type { Entry } from './entries.js';

/** Counts the entries in the stream. */
export class Totals implements StreamTotals {
  files = 0;
  directories = 0;
  symbolicLinks = 0;
  hardLinks = 0;
  bytes = 0;

  count(kind: Entry['kind']): void {
    if (kind === 'file') this.files += 1;
    else if (kind === 'directory') this.directories += 1;
    else if (kind === 'symbolicLink') this.symbolicLinks += 1;
    else this.hardLinks += 1;
  }

  add(other: StreamTotals): void {
    this.files += other.files;
    this.directories += other.directories;
    this.symbolicLinks += other.symbolicLinks;
    this.hardLinks += other.hardLinks;
    this.bytes += other.bytes;
  }
}
