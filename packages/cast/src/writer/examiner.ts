import { type BigIntStats, lstatSync, readlinkSync } from 'node:fs';
import type { ArchivedEntries } from '../archive/archived-entries.js';
import { MODE_MASK } from '../constants.js';
import { EntryState, type EntryStateValue, isLacking } from '../manifest/entry-states.js';
import type { ManifestEntry } from '../manifest/manifest-entry.js';
import type { ComparisonPolicy } from '../manifest/policy.js';
import { diskBytesOf } from '../resume/kept-bytes.js';
import type { KeptStore } from '../resume/kept-store.js';
import type { Timestamp } from '../stream/records.js';
import { within } from './descriptor-paths.js';
import type { ReceivingTree } from './directory-tree.js';
import type { ExistingFile } from './existing-file.js';
import { NeededRoom } from './needed-room.js';
import type { OlderFiles } from './older-files.js';
import type { Outcomes } from './outcomes.js';

const NOTHING = Buffer.alloc(0);

export interface ExaminerParts {
  readonly tree: ReceivingTree;
  readonly outcomes: Outcomes;
  readonly file: ExistingFile;
  /** Gets the large files that will be replaced. */
  readonly older: OlderFiles;
  /** Units in which the file system keeps times. */
  readonly timeUnitNs: bigint;
  /** What interrupted casts have left; undefined where the receiver keeps nothing. */
  readonly kept: KeptStore | undefined;
  /** Undefined where the cast tells only modes. */
  readonly archived: ArchivedEntries | undefined;
  /** A directory exists, with another mode or time than that of the entry. */
  readonly onDirectory: (entry: ManifestEntry, index: number) => void;
}

/** Compares entries of the sender with what is in the receiving directory. */
export class Examiner {
  /** A state for each entry so far. */
  #states = new Uint8Array(1024);
  #count = 0;
  #unchangedFiles = 0;
  #unchangedBytes = 0;
  /** A path that does not exist, with a slash: nothing exists below it. */
  #absent: Buffer | undefined;

  constructor(
    private readonly policy: ComparisonPolicy,
    private readonly parts: ExaminerParts,
  ) {}

  /** What the files that the receiver lacks take on its disk. */
  readonly room = new NeededRoom();
  /** Sizes of files that an interrupted cast has brought completely. */
  restoredBytes = 0;

  /** Number of entries examined. */
  get count(): number {
    return this.#count;
  }

  /** Regular files that the receiver has. */
  get unchanged(): { readonly files: number; readonly bytes: number } {
    return { files: this.#unchangedFiles, bytes: this.#unchangedBytes };
  }

  /** The state of an entry; undefined where it was not examined. */
  state(index: number): number | undefined {
    return index < this.#count ? this.#states[index] : undefined;
  }

  /** Examines the next entry. @throws CastError where nothing more can be stored */
  examine(entry: ManifestEntry): EntryStateValue {
    const index = this.#count;
    const state = this.#judge(entry, index);
    if (index === this.#states.length) this.#grow();
    this.#states[index] = state;
    this.#count += 1;
    if (this.policy.dryRun && isLacking(state)) this.parts.archived?.foresee(index);
    if (entry.kind !== 'file') return state;
    if (state === EntryState.HAS || state === EntryState.ATTRIBUTES) {
      this.#unchangedFiles += 1;
      this.#unchangedBytes += entry.size;
    } else if (isLacking(state)) this.room.add(entry.size);
    return state;
  }

  #grow(): void {
    const larger = new Uint8Array(this.#states.length * 2);
    larger.set(this.#states);
    this.#states = larger;
  }

  #judge(entry: ManifestEntry, index: number): EntryStateValue {
    let state: EntryStateValue = EntryState.DIFFERS;
    try {
      state = this.#compare(entry, index);
    } catch (error) {
      // In a cast, storing the entry fails for the same reason.
      this.#conflict(entry, index, error);
    }
    return this.policy.by === 'none' && state === EntryState.HAS ? EntryState.DIFFERS : state;
  }

  #compare(entry: ManifestEntry, index: number): EntryStateValue {
    const found = this.#find(entry.path) ?? this.#restored(entry, index);
    if (!found && this.policy.existing) return EntryState.SKIPPED;
    if (!found) return entry.kind === 'file' ? this.#replaced(entry, index, undefined) : EntryState.ABSENT;
    const { stats, place } = found;
    if ((entry.kind === 'directory') !== stats.isDirectory()) {
      const error = stats.isDirectory() ? 'EISDIR' : 'ENOTDIR';
      this.#conflict(entry, index, Object.assign(new Error(error), { code: error }));
      return EntryState.DIFFERS;
    }
    if (entry.kind === 'directory') return this.#directory(entry, index, stats, place);
    if (entry.kind === 'file') return this.#file(entry, index, stats, place);
    if (entry.kind === 'symbolicLink') return this.#symbolicLink(entry, index, stats, place);
    return this.#hardLink(entry, stats);
  }

  /** What has that name; undefined where nothing has. @throws CastError where a directory on the path is not one */
  #find(path: Buffer): { stats: BigIntStats; place: Buffer } | undefined {
    if (this.#absent && path.subarray(0, this.#absent.length).equals(this.#absent)) return undefined;
    const slash = path.lastIndexOf(0x2f);
    const parent = slash === -1 ? NOTHING : path.subarray(0, slash);
    const directory = this.parts.tree.existing(parent);
    const place = directory === undefined ? undefined : within(directory, path.subarray(slash + 1));
    const stats = place && lstatSync(place, { bigint: true, throwIfNoEntry: false });
    if (!stats) this.#absent = Buffer.concat([path, Buffer.from('/')]);
    return stats && { stats, place: place! };
  }

  #directory(entry: ManifestEntry, index: number, stats: BigIntStats, place: Buffer): EntryStateValue {
    const hasExtended = this.parts.archived?.hasExtended(index, place) ?? true;
    if (this.#hasAttributes(entry, index, stats) && this.#isSameTime(entry.time, stats) && hasExtended)
      return EntryState.HAS;
    this.parts.onDirectory(entry, index);
    return EntryState.ATTRIBUTES;
  }

  #file(entry: ManifestEntry, index: number, stats: BigIntStats, place: Buffer): EntryStateValue {
    if (!stats.isFile()) return EntryState.DIFFERS;
    const isSameTime = this.#isSameTime(entry.time, stats);
    const isSame = this.#isSameFile(entry, index, stats, place, isSameTime);
    const hasExtended = !isSame || (this.parts.archived?.hasExtended(index, place) ?? true);
    if (isSame && isSameTime && hasExtended && this.#hasAttributes(entry, index, stats))
      return EntryState.HAS;
    if (this.policy.update && !isSame && this.#isNewer(stats, entry.time)) return EntryState.SKIPPED;
    const isResent =
      !isSame || !hasExtended || this.policy.by === 'none' || this.parts.archived?.isPrivileged(index);
    if (isResent) return this.#replaced(entry, index, stats);
    if (this.policy.dryRun) return stats.nlink === 1n ? EntryState.ATTRIBUTES : EntryState.DIFFERS;
    return this.parts.file.setAttributes(place, stats, entry, index)
      ? EntryState.ATTRIBUTES
      : this.#replaced(entry, index, stats);
  }

  /** The file will be replaced, or made: perhaps from blocks that are here. */
  #replaced(entry: ManifestEntry, index: number, stats: BigIntStats | undefined): EntryStateValue {
    const part = this.policy.dryRun ? undefined : this.parts.kept?.takePart(entry);
    const presentBytes = part?.diskBytes ?? 0;
    this.room.addPresent(presentBytes);
    // A file with further names stays under these.
    if (stats?.isFile() && stats.nlink === 1n)
      this.room.addReplaced(Math.max(0, entry.size - presentBytes), diskBytesOf(stats));
    if (this.parts.older.add(entry, index, this.policy.delta ? stats : undefined, part))
      return EntryState.OLDER;
    return stats ? EntryState.DIFFERS : EntryState.ABSENT;
  }

  /** A file that an interrupted cast has brought completely gets its name now. */
  #restored(entry: ManifestEntry, index: number): { stats: BigIntStats; place: Buffer } | undefined {
    const { kept, tree } = this.parts;
    if (entry.kind !== 'file' || !kept || kept.isEmpty || this.policy.existing || this.policy.dryRun)
      return undefined;
    const target = (): Buffer => {
      const { directory, name } = tree.place(entry.path);
      return within(directory, name);
    };
    const isWanted = (place: Buffer, stats: BigIntStats): boolean =>
      this.#isSameFile(entry, index, stats, place, this.#isSameTime(entry.time, stats));
    if (!kept.takeFile(entry.path, isWanted, target)) return undefined;
    this.restoredBytes += entry.size;
    this.#absent = undefined;
    return this.#find(entry.path);
  }

  #isSameFile(
    entry: ManifestEntry,
    index: number,
    stats: BigIntStats,
    place: Buffer,
    isSameTime: boolean,
  ): boolean {
    if (stats.size !== BigInt(entry.size)) return false;
    if (this.policy.by !== 'content') return isSameTime;
    return entry.digest !== undefined && this.parts.file.hasDigest(place, stats, index, entry.digest);
  }

  #symbolicLink(entry: ManifestEntry, index: number, stats: BigIntStats, place: Buffer): EntryStateValue {
    const isSame =
      stats.isSymbolicLink() &&
      readlinkSync(place, 'buffer').equals(entry.target) &&
      this.#isSameTime(entry.time, stats) &&
      this.#matches(index, stats);
    return isSame ? EntryState.HAS : EntryState.DIFFERS;
  }

  /** A link to a file that will be replaced is made again. */
  #hardLink(entry: ManifestEntry, stats: BigIntStats): EntryStateValue {
    const targetState = this.state(entry.targetIndex);
    const isReplaced = targetState === undefined || isLacking(targetState);
    const target = isReplaced ? undefined : this.#find(entry.target)?.stats;
    if (target?.ino === stats.ino && target.dev === stats.dev) return EntryState.HAS;
    if (this.policy.update && stats.isFile() && this.#isNewer(stats, entry.time)) return EntryState.SKIPPED;
    return isReplaced || target ? EntryState.DIFFERS : EntryState.SKIPPED;
  }

  #hasAttributes({ mode }: ManifestEntry, index: number, stats: BigIntStats): boolean {
    return (Number(stats.mode) & MODE_MASK) === mode && this.#matches(index, stats);
  }

  /** Whether it has the owner that is told in an archive cast, as far as this receiver may give it. */
  #matches(index: number, stats: BigIntStats): boolean {
    return this.parts.archived?.matches(index, stats) ?? true;
  }

  #isSameTime(time: Timestamp, { mtimeNs }: BigIntStats): boolean {
    const unit = this.parts.timeUnitNs;
    return unitsIn(mtimeNs, unit) === unitsIn(nanosecondsOf(time), unit);
  }

  #isNewer({ mtimeNs }: BigIntStats, time: Timestamp): boolean {
    const unit = this.parts.timeUnitNs;
    return unitsIn(mtimeNs, unit) > unitsIn(nanosecondsOf(time), unit);
  }

  /** The entry cannot be stored: storing it will fail, and a dry run reports that now. */
  #conflict(entry: ManifestEntry, index: number, error: unknown): void {
    if (!this.policy.dryRun) return;
    this.parts.outcomes.attempt(index, entry.path, () => {
      throw error;
    });
  }
}

function nanosecondsOf({ seconds, nanoseconds }: Timestamp): bigint {
  return BigInt(seconds) * 1_000_000_000n + BigInt(nanoseconds);
}

/** Rounds down, also before 1970. */
function unitsIn(nanoseconds: bigint, unit: bigint): bigint {
  const quotient = nanoseconds / unit;
  return quotient * unit > nanoseconds ? quotient - 1n : quotient;
}
