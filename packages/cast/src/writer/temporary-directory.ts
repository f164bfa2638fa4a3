import {
  closeSync,
  constants,
  fstatSync,
  futimesSync,
  mkdirSync,
  openSync,
  rmdirSync,
  writeFileSync,
} from 'node:fs';
import { TEMPORARY_PREFIX, TOUCH_INTERVAL_MS } from '../constants.js';
import { CastError, codeOf } from '../errors.js';
import { KeptDirectory, thisBoot } from '../resume/kept-directory.js';
import { BOOT_FILE } from '../resume/names.js';
import { emptyDirectory } from '../resume/remove-tree.js';
import { DIRECTORY_FLAGS, within } from './descriptor-paths.js';
import { secondsOf } from './file-time.js';
import { describeOwner, OWNER_FILE } from './owner.js';

/** Odd in every digit, so that each coarser unit changes it. */
const PROBE_TIME = { seconds: 1_111_111_111, nanoseconds: 111_111_000 };
const UNITS_NS = [1_000n, 1_000_000n, 1_000_000_000n];
/** The coarsest unit that is in use: two seconds (FAT). */
const COARSEST_UNIT_NS = 2_000_000_000n;

/** The directory of one cast's incomplete files: inside the receiving directory, so that renaming is atomic. */
export class TemporaryDirectory {
  readonly #name: string;
  readonly descriptor: number;
  readonly #touching: NodeJS.Timeout | undefined;
  #touchedAt = performance.now();
  #removed = false;

  /**
   * @param isSynced false where files in it are not synced: after another start of the host, nothing in it counts
   * @throws CastError ERR_RDMC_SHARED_DIRECTORY; errors of the system
   */
  constructor(
    private readonly root: number,
    castId: string,
    isSynced = true,
  ) {
    this.#name = `${TEMPORARY_PREFIX}${castId}`;
    this.#make();
    try {
      this.descriptor = openSync(within(root, this.#name), DIRECTORY_FLAGS);
    } catch (error) {
      rmdirSync(within(root, this.#name));
      throw error;
    }
    try {
      // First: what is there without it counts after another start of the host.
      if (!isSynced) this.#write(BOOT_FILE, thisBoot());
      this.#write(OWNER_FILE, describeOwner());
    } catch (error) {
      this.remove();
      throw error;
    }
    this.#touching = setInterval(() => this.touch(), TOUCH_INTERVAL_MS).unref();
  }

  /**
   * Shows receivers in other containers and on other hosts that it is in use: see `ownerState`. It does so by itself, too; call it
   * in long work, which keeps timers from their turn. Most calls do nothing.
   */
  touch(): void {
    const now = performance.now();
    if (this.#removed || now - this.#touchedAt < TOUCH_INTERVAL_MS) return;
    this.#touchedAt = now;
    try {
      const seconds = Date.now() / 1000;
      futimesSync(this.descriptor, seconds, seconds);
    } catch {
      // The disk fails, which the cast finds out itself.
    }
  }

  #make(): void {
    try {
      mkdirSync(within(this.root, this.#name), { mode: 0o700 });
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error;
      // The name contains the id of the cast, so only a receiver of the same cast can have made it.
      throw new CastError(
        'ERR_RDMC_SHARED_DIRECTORY',
        'another receiver of this cast has the same directory; give each receiver its own directory, on a disk of its host',
        { cause: error },
      );
    }
  }

  /** The path of a temporary file. */
  file(index: number | string): Buffer {
    return within(this.descriptor, String(index));
  }

  /**
   * The units in which the file system keeps times, as far as this package sets them: a time is set, and read again.
   * @throws errors of the system
   */
  timeUnitNs(): bigint {
    const descriptor = openSync(this.file(OWNER_FILE), constants.O_RDWR | constants.O_NOFOLLOW);
    try {
      const seconds = secondsOf(PROBE_TIME);
      futimesSync(descriptor, seconds, seconds);
      return unitOf(fstatSync(descriptor, { bigint: true }).mtimeNs);
    } finally {
      closeSync(descriptor);
    }
  }

  #write(name: string, text: string): void {
    writeFileSync(this.file(name), text, { mode: 0o600, flag: 'wx' });
  }

  /** No later cast may use anything in it: after a kill, the next receiver removes it. @throws errors of the system */
  markUseless(): void {
    writeFileSync(this.file(BOOT_FILE), '', { mode: 0o600 });
  }

  /**
   * Keeps what a later cast can use, and removes the rest. Idempotent, also with `remove`.
   * @param active called for each entry that is kept
   * @throws as `remove`
   */
  keep(active?: () => void): void {
    if (this.#removed) return;
    const kept = KeptDirectory.open(this.root, this.#name);
    try {
      if (kept?.prune()) {
        kept.keep(active);
        this.#removed = true;
        this.#close();
      } else this.remove();
    } finally {
      kept?.close();
    }
  }

  /** Idempotent. @throws errors of the system, where a file cannot be removed */
  remove(): void {
    if (this.#removed) return;
    this.#removed = true;
    try {
      emptyAndRemove(this.root, this.#name, this.descriptor);
    } finally {
      this.#close();
    }
  }

  #close(): void {
    clearInterval(this.#touching);
    closeSync(this.descriptor);
  }
}

/** The finest unit in which a file has the time that was set. */
function unitOf(found: bigint): bigint {
  const set = BigInt(PROBE_TIME.seconds) * 1_000_000_000n + BigInt(PROBE_TIME.nanoseconds);
  return UNITS_NS.find((unit) => found / unit === set / unit) ?? COARSEST_UNIT_NS;
}

/** Removes a temporary directory with everything in it. */
export function emptyAndRemove(root: number, name: string, descriptor: number): void {
  emptyDirectory(descriptor);
  rmdirSync(within(root, name));
}
