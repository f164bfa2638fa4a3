import { closeSync, constants, openSync } from 'node:fs';
import { MAX_OPEN_PULL_FILES } from '../constants.js';

const OPEN_FLAGS = constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW;

/** Descriptors of incomplete files, whose pieces come in any order. The most recently used ones stay open. */
export class OpenFiles {
  /** By entry, the least recently used first. */
  readonly #open = new Map<number, number>();

  /** @param path of the incomplete file of an entry */
  constructor(private readonly path: (entry: number) => Buffer) {}

  /** @param mode of the file if it is made now. @throws errors of the system */
  use(entry: number, mode: number): number {
    const known = this.#open.get(entry);
    this.#open.delete(entry);
    const descriptor = known ?? openSync(this.path(entry), OPEN_FLAGS, mode | 0o600);
    this.#open.set(entry, descriptor);
    const [oldest] = this.#open.keys();
    if (this.#open.size > MAX_OPEN_PULL_FILES) this.close(oldest!);
    return descriptor;
  }

  /** As `use`; the caller closes the descriptor. */
  take(entry: number, mode: number): number {
    const descriptor = this.use(entry, mode);
    this.#open.delete(entry);
    return descriptor;
  }

  close(entry: number): void {
    const descriptor = this.#open.get(entry);
    if (descriptor === undefined) return;
    this.#open.delete(entry);
    closeSync(descriptor);
  }

  closeAll(): void {
    for (const entry of [...this.#open.keys()]) this.close(entry);
  }
}
