import { CastError } from '../errors.js';
import { type FileEntry, timestamp } from './entries.js';
import type { FileFacts } from './file-facts.js';
import type { FileSource, ReadHook } from './file-source.js';
import { openFile } from './open-file.js';

/** The file that is being read: one at a time stays open between messages. */
export class OpenSource {
  #open: { readonly index: number; readonly source: FileSource } | undefined;

  constructor(private readonly hook: ReadHook | undefined) {}

  /** The file of this entry, if it is the open one. */
  of(index: number): FileSource | undefined {
    return this.#open?.index === index ? this.#open.source : undefined;
  }

  /** Opens a file for the first time. @throws errors of the system; CastError ERR_RDMC_FILE_CHANGED */
  first(entry: FileEntry, index: number): FileSource {
    this.close();
    const source = openFile(entry, this.hook);
    this.#open = { index, source };
    return source;
  }

  /** Opens a file again, unless it is open. @throws as `first`, also where it is not the file that was read first */
  again(entry: FileEntry, index: number, { identity }: FileFacts): FileSource {
    const open = this.of(index);
    if (open) return open;
    const source = this.first(entry, index);
    if (!source.is(identity)) throw changed('its size or times changed');
    return source;
  }

  close(): void {
    this.#open?.source.close();
    this.#open = undefined;
  }

  closeIf(index: number): void {
    if (this.#open?.index === index) this.close();
  }
}

/** Receivers that have the file have it as it was when it was compared. @throws CastError ERR_RDMC_FILE_CHANGED */
export function checkCompared({ size, time }: FileEntry, { stats, identity }: FileSource): void {
  const { seconds, nanoseconds } = timestamp(stats.mtimeNs);
  if (identity.size === size && seconds === time.seconds && nanoseconds === time.nanoseconds) return;
  throw changed('it changed after it was compared, and receivers may have it as it was; cast it again');
}

/**
 * Receivers give the file the owner that was told: contents of another owner must not get it.
 * @param now what would be told now @throws CastError ERR_RDMC_FILE_CHANGED
 */
export function checkTold({ attributes }: FileEntry, now: Buffer): void {
  if (attributes?.equals(now) === false)
    throw changed('its owner, mode or attributes changed after it was listed; cast it again');
}

export function changed(message: string): CastError {
  return new CastError('ERR_RDMC_FILE_CHANGED', message);
}
