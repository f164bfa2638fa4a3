import type { BufferSlabs } from './buffer-slabs.js';

/** The first-block buffer of one group: one of those of its node. A group that does not receive blocks does not have one. */
export class GroupBuffer {
  /** Resolves when the group has it; and its size. */
  #joined: { readonly bytes: number; readonly done: Promise<void> } | undefined;

  constructor(private readonly slabs: Pick<BufferSlabs, 'join' | 'leave'>) {}

  /** Resolves when the group has it. Call it once. @throws VerbsError ERR_RDMC_OUT_OF_MEMORY */
  async join(bytes: number): Promise<void> {
    this.#joined = { bytes, done: this.slabs.join(bytes) };
    await this.#joined.done;
  }

  /** Gives it back, also where the group has failed while it was being allocated. */
  async leave(): Promise<void> {
    const joined = this.#joined;
    this.#joined = undefined;
    if (!joined) return;
    const hasOne = await joined.done.then(
      () => true,
      () => false,
    );
    if (hasOne) await this.slabs.leave(joined.bytes);
  }
}
