import { type FileHandle, open, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

/** The open directories: Node.js must not close one of a file that nobody closes, which is an error in newer versions. */
const directories = new Set<FileHandle>();

/** A file that is written anew for each change: after a loss of power it has its old or its new content. */
export class DurableFile {
  private constructor(
    readonly path: string,
    /** Stays open: each change syncs it. */
    private directory: FileHandle,
  ) {}

  /** The file need not exist; its directory must. */
  static async open(path: string): Promise<DurableFile> {
    return new DurableFile(path, await openDirectory(path));
  }

  close(): Promise<void> {
    return closeDirectory(this.directory);
  }

  /** Undefined: it does not exist. */
  async read(): Promise<string | undefined> {
    try {
      return await readFile(this.path, 'utf8');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw error;
    }
  }

  /**
   * The rename is durable once the directory is on the disk, and the file is complete whenever it has its name. Five calls of the file
   * system, one after the other: open, write, sync, rename, sync. Where slots of `kv` are handed over, commands wait for them.
   * The directory may have been replaced, for example by a copy on another disk: then the new one has the name, and is synced.
   */
  async write(text: string): Promise<void> {
    const unfinished = `${this.path}.tmp`;
    try {
      const file = await open(unfinished, 'w', 0o600);
      try {
        await file.writeFile(text);
        await file.sync();
      } catch (error) {
        await file.close();
        throw error;
      }
      // Its bytes are on the disk. A failed close must not end the wait for the rename: the next change would use the name.
      await Promise.all([rename(unfinished, this.path), file.close().catch(() => {})]);
    } catch (error) {
      await rm(unfinished, { force: true }).catch(() => {});
      throw error;
    }
    const [isSame] = await Promise.all([this.#isSameDirectory(), this.directory.sync()]);
    if (isSame) return;
    const before = this.directory;
    this.directory = await openDirectory(this.path);
    await closeDirectory(before);
    await this.directory.sync();
  }

  /** Whether the open directory is that of the path. */
  async #isSameDirectory(): Promise<boolean> {
    const [named, opened] = await Promise.all([stat(dirname(this.path)), this.directory.stat()]);
    return named.ino === opened.ino && named.dev === opened.dev;
  }
}

async function openDirectory(path: string): Promise<FileHandle> {
  const directory = await open(dirname(path), 'r');
  directories.add(directory);
  return directory;
}

async function closeDirectory(directory: FileHandle): Promise<void> {
  directories.delete(directory);
  await directory.close();
}
