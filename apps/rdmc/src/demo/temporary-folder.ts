import { mkdtempSync, rmSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CliError, codeOf, systemReason } from '../errors.js';

/** A folder that is removed when the process ends, except by SIGKILL, unless it is kept. */
export class TemporaryFolder {
  readonly path: string;
  #kept = false;
  readonly #onExit = (): void => rmSync(this.path, { recursive: true, force: true });

  constructor(prefix: string) {
    try {
      this.path = mkdtempSync(join(tmpdir(), prefix));
    } catch (error) {
      const code = codeOf(error) ?? 'ERR_RDMC_FILE';
      const advice = 'set TMPDIR to a folder that exists and that you may write to';
      throw new CliError(code, `no temporary folder in ${tmpdir()}: ${systemReason(error)}`, {
        advice,
        cause: error,
      });
    }
    process.once('exit', this.#onExit);
  }

  get kept(): boolean {
    return this.#kept;
  }

  /** The folder is not removed. */
  keep(): void {
    this.#kept = true;
    process.off('exit', this.#onExit);
  }

  async remove(): Promise<void> {
    if (this.#kept) return;
    await rm(this.path, { recursive: true, force: true });
    process.off('exit', this.#onExit);
  }
}
