import { type FileHandle, open, readFile, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';

/** The open directories: Node.js must not close one of a file that nobody closes, which is an error in newer versions. */
const directories = new Set<FileHandle>();

/** A file that is written anew for each change: after a loss of power it has its old or its new content. */
export class DurableFile {
  private constructor(
    readonly path: string,
    /** Stays open: each change syncs it. */
    private readonly directory: FileHandle,
  ) {}

  /** The file need not exist; its directory must. */
  static async open(path: string): Promise<DurableFile> {
    const directory = await open(dirname(path), 'r');
    directories.add(directory);
    return new DurableFile(path, directory);
  }

  async close(): Promise<void> {
    directories.delete(this.directory);
    await this.directory.close();
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
      await Promise.all([rename(unfinished, this.path), file.close()]);
    } catch (error) {
      await rm(unfinished, { force: true }).catch(() => {});
      throw error;
    }
    await this.directory.sync();
  }
}
