import { open, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { makeDurableDirectories, parseWholeNumber, syncDirectory } from '@rdmc/common';
import { codeOf, MeshError, messageOf } from '../errors.js';

/**
 * The last incarnation of a member, in a file of its directory: text, `incarnation-ID`. A new process reads it, and writes its own
 * before any other member knows of it, so that two processes after each other never have the same one.
 */
export class IncarnationFile {
  readonly #path: string;

  constructor(
    private readonly directory: string,
    id: number,
  ) {
    this.#path = join(directory, `incarnation-${id}`);
  }

  /** 0: there is none. @throws MeshError ERR_RDMC_MESH_DIRECTORY */
  async read(): Promise<number> {
    let text: string;
    try {
      text = await readFile(this.#path, 'utf8');
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return 0;
      throw unusable(`${this.#path} cannot be read: ${messageOf(error)}`, error);
    }
    const incarnation = parseWholeNumber(text.trim(), 1);
    if (incarnation === undefined) {
      throw unusable(`${this.#path} has '${text.slice(0, 40)}', which is not an incarnation`);
    }
    return incarnation;
  }

  /** When this resolves, the file has the number, also after a crash. @throws MeshError ERR_RDMC_MESH_DIRECTORY */
  async write(incarnation: number): Promise<void> {
    const next = `${this.#path}.${process.pid}`;
    try {
      await makeDurableDirectories(this.directory);
      const file = await open(next, 'w', 0o600);
      try {
        await file.writeFile(`${incarnation}\n`);
        await file.sync();
      } finally {
        await file.close();
      }
      await rename(next, this.#path);
      await syncDirectory(this.directory);
    } catch (error) {
      throw unusable(`${this.#path} cannot be written: ${messageOf(error)}`, error);
    }
  }
}

function unusable(message: string, cause?: unknown): MeshError {
  return new MeshError('ERR_RDMC_MESH_DIRECTORY', message, { cause });
}
