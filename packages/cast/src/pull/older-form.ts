import { type BigIntStats, lstatSync } from 'node:fs';
import { MODE_MASK } from '../constants.js';
import type { ManifestEntry } from '../manifest/manifest-entry.js';
import { timestamp } from '../reader/entries.js';
import { FileSource } from '../reader/file-source.js';
import { within } from '../writer/descriptor-paths.js';
import type { ReceivingTree } from '../writer/directory-tree.js';

const SLASH = 0x2f;

/** What a fetcher has under the name of a file of the server. */
export class OlderForm {
  constructor(
    private readonly place: Buffer,
    private readonly stats: BigIntStats,
  ) {}

  /** Undefined where there is not a regular file. */
  static at(tree: ReceivingTree, path: Buffer): OlderForm | undefined {
    const slash = path.lastIndexOf(SLASH);
    try {
      const directory = tree.existing(path.subarray(0, Math.max(slash, 0)));
      if (directory === undefined) return undefined;
      const place = within(directory, path.subarray(slash + 1));
      const stats = lstatSync(place, { bigint: true, throwIfNoEntry: false });
      return stats?.isFile() ? new OlderForm(place, stats) : undefined;
    } catch {
      // A link, or something else, is in the way: storing the file reports that.
      return undefined;
    }
  }

  /** Whether size, mode and time are equal, in the units in which the file system keeps times. */
  isLike(entry: ManifestEntry, timeUnitNs: bigint): boolean {
    return (Number(this.stats.mode) & MODE_MASK) === entry.mode && this.isOfSameTime(entry, timeUnitNs);
  }

  /** As `isLike`, whatever the mode. */
  isOfSameTime({ size, time }: ManifestEntry, timeUnitNs: bigint): boolean {
    const { seconds, nanoseconds } = timestamp(this.stats.mtimeNs);
    const inUnits = (of: number): bigint => BigInt(of) / timeUnitNs;
    const isSecond = timeUnitNs >= 1_000_000_000n;
    const sameTime = isSecond
      ? BigInt(seconds) / (timeUnitNs / 1_000_000_000n) ===
        BigInt(time.seconds) / (timeUnitNs / 1_000_000_000n)
      : seconds === time.seconds && inUnits(nanoseconds) === inUnits(time.nanoseconds);
    return Number(this.stats.size) === size && sameTime;
  }

  /** Opens it; undefined where that is not possible. The caller closes it. */
  open(): FileSource | undefined {
    try {
      return new FileSource(this.place, undefined);
    } catch {
      return undefined;
    }
  }
}
