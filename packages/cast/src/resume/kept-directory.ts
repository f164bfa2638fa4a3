import {
  type BigIntStats,
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  futimesSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  unlinkSync,
} from 'node:fs';
import { codeOf } from '../errors.js';
import { DIRECTORY_FLAGS, within } from '../writer/descriptor-paths.js';
import { DirectoryTree } from '../writer/directory-tree.js';
import { OWNER_FILE } from '../writer/owner.js';
import { decodeJournal, type Journal } from './journal.js';
import { deductKeptBytes, diskBytesOf, keptBytes, recordKeptBytes } from './kept-bytes.js';
import { BOOT_FILE, BYTES_FILE, journalName, journalOf, keptName, partName, TREE } from './names.js';
import { isAsClosed, PartFile, statsOfFile } from './part-file.js';
import { type FileFactsOfEntry, partIdentity } from './part-identity.js';
import { emptyDirectory } from './remove-tree.js';
import { walk } from './walk.js';

const OTHERS = 0o077;

/** What one interrupted cast has left, or the temporary directory of a cast that has just ended. */
export class KeptDirectory {
  readonly #tree: { readonly descriptor: number; readonly tree: DirectoryTree } | undefined;
  /** It was written without syncs. */
  readonly #isUnsynced: boolean;
  /** Bytes on disk that were taken from it. */
  #takenBytes = 0;
  /** Nothing in it counts: it was written without syncs before the host started again, or is not to be continued. */
  readonly #isVoid: boolean;

  private constructor(
    private readonly root: number,
    readonly name: string,
    private readonly descriptor: number,
  ) {
    this.#tree = openTree(descriptor);
    const boot = unsyncedBoot(descriptor);
    this.#isUnsynced = boot !== undefined;
    this.#isVoid = this.#isUnsynced && boot !== thisBoot();
  }

  /** Undefined where it does not belong to this user alone, or is gone: then nothing in it counts. */
  static open(root: number, name: string): KeptDirectory | undefined {
    let descriptor: number | undefined;
    try {
      descriptor = openSync(within(root, name), DIRECTORY_FLAGS);
      const { uid, mode } = fstatSync(descriptor);
      if (uid === process.geteuid!() && (mode & OTHERS) === 0)
        return new KeptDirectory(root, name, descriptor);
    } catch {
      // Another cast has removed it, or it is not a directory.
    }
    if (descriptor !== undefined) closeSync(descriptor);
    return undefined;
  }

  /** When a file was last added or taken. */
  get usedAtMs(): number {
    return fstatSync(this.descriptor).mtimeMs;
  }

  /**
   * Moves a complete file to a place, if it is here; removes an earlier form of it.
   * @param isWanted whether it is the file that is wanted
   * @param durable whether it is on disk then
   */
  takeFile(
    path: Buffer,
    isWanted: (place: Buffer, stats: BigIntStats) => boolean,
    target: () => Buffer,
    durable: boolean,
  ): boolean {
    const slash = path.lastIndexOf(0x2f);
    if (slash === -1 || !this.#tree || this.#isVoid) return false;
    try {
      const directory = this.#tree.tree.existing(path.subarray(0, slash));
      if (directory === undefined) return false;
      const place = within(directory, path.subarray(slash + 1));
      const stats = lstatSync(place, { bigint: true, throwIfNoEntry: false });
      if (!stats?.isFile() || stats.nlink !== 1n) return false;
      const isTaken = isWanted(place, stats);
      if (isTaken && durable && this.#isUnsynced) syncFile(place);
      if (isTaken) renameSync(place, target());
      // The sender has another one by now.
      else unlinkSync(place);
      this.#takenBytes += diskBytesOf(stats);
      return isTaken;
    } catch {
      // The cast sends it again.
      return false;
    }
  }

  /**
   * Moves the partial file of an entry and its journal to another directory, if they are here. Removes those of an earlier
   * form of the entry.
   * @param mayTrust whether a partial file that is as it was when it was closed needs no comparison
   */
  takePart(entry: FileFactsOfEntry, into: number, mayTrust: boolean): PartFile | undefined {
    if (this.#isVoid) return undefined;
    const identity = partIdentity(entry);
    const [part, journalFile] = [partName(entry.path), journalName(entry.path)];
    try {
      const place = within(this.descriptor, part);
      const journal = readJournal(within(this.descriptor, journalFile));
      if (!journal) return undefined;
      const isWanted = journal.identity.equals(identity) && journal.size === entry.size;
      if (!isWanted || journal.ranges.length === 0) {
        this.#unlink(journalFile);
        return undefined;
      }
      const stats = statsOfFile(place);
      if (!stats) return undefined;
      const isTrusted = mayTrust && journal.authenticated && isAsClosed(stats, journal.closed);
      renameSync(within(this.descriptor, journalFile), within(into, journalFile));
      renameSync(place, within(into, part));
      const diskBytes = diskBytesOf(stats);
      this.#takenBytes += diskBytes;
      return new PartFile({ place: within(into, part), journal, isTrusted, diskBytes });
    } catch {
      return undefined;
    }
  }

  /** Removes what no later cast can use. Returns whether something is left. */
  prune(): boolean {
    if (this.#isVoid) return false;
    const names = new Set(readdirSync(`/proc/self/fd/${this.descriptor}/`, 'latin1'));
    const used = new Set([OWNER_FILE, BOOT_FILE, BYTES_FILE]);
    let isUseful = false;
    for (const name of names) {
      const journal = journalOf(name);
      if (journal === undefined || !names.has(journal) || !this.#hasRanges(journal)) continue;
      used.add(name).add(journal);
      isUseful = true;
    }
    if (this.#tree && hasFile(this.#tree.descriptor)) {
      used.add(TREE);
      isUseful = true;
    }
    for (const name of names) if (!used.has(name) && name !== TREE) this.#unlink(name);
    return isUseful;
  }

  /**
   * The temporary directory of a cast that has ended is kept for later casts.
   * @param active called for each entry in it
   * @throws errors of the system
   */
  keep(active = (): void => {}): void {
    recordKeptBytes(this.descriptor, active);
    const now = Date.now() / 1000;
    futimesSync(this.descriptor, now, now);
    renameSync(within(this.root, this.name), within(this.root, keptName(this.name)));
  }

  /** Bytes on disk, as far as they are known. */
  get diskBytes(): number {
    return Math.max(0, keptBytes(this.descriptor) - this.#takenBytes);
  }

  /** @throws errors of the system */
  remove(): void {
    this.#tree?.tree.close();
    emptyDirectory(this.descriptor);
    rmdirSync(within(this.root, this.name));
  }

  /** Records what was taken: whoever opens it again does not count that. */
  noteTaken(): void {
    if (this.#takenBytes > 0) deductKeptBytes(this.descriptor, this.#takenBytes);
    this.#takenBytes = 0;
  }

  close(): void {
    this.noteTaken();
    this.#tree?.tree.close();
    if (this.#tree) closeSync(this.#tree.descriptor);
    closeSync(this.descriptor);
  }

  #unlink(name: string): void {
    try {
      unlinkSync(within(this.descriptor, Buffer.from(name, 'latin1')));
    } catch {
      // A directory that was being removed: it goes with the rest.
    }
  }

  #hasRanges(journal: string): boolean {
    return (readJournal(within(this.descriptor, journal))?.ranges.length ?? 0) > 0;
  }
}

function openTree(descriptor: number): { descriptor: number; tree: DirectoryTree } | undefined {
  try {
    const tree = openSync(within(descriptor, TREE), DIRECTORY_FLAGS);
    return { descriptor: tree, tree: new DirectoryTree(tree) };
  } catch {
    return undefined;
  }
}

function readJournal(place: Buffer): Journal | undefined {
  try {
    const descriptor = openSync(place, constants.O_RDONLY | constants.O_NOFOLLOW);
    try {
      return decodeJournal(readFileSync(descriptor));
    } finally {
      closeSync(descriptor);
    }
  } catch {
    return undefined;
  }
}

/** Its file `boot` (see names.ts): undefined where everything in it is synced; an empty text where nothing in it counts. */
function unsyncedBoot(descriptor: number): string | undefined {
  try {
    return readFileSync(within(descriptor, BOOT_FILE), 'latin1');
  } catch (error) {
    return codeOf(error) === 'ENOENT' ? undefined : '';
  }
}

function syncFile(place: Buffer): void {
  const descriptor = openSync(place, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** The kernel's UUID of this boot. */
export function thisBoot(): string {
  return readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
}

function hasFile(directory: number): boolean {
  let found = false;
  walk(directory, (stats) => {
    found ||= stats.isFile();
    return !found;
  });
  return found;
}
