import { SLOTS } from '../limits.js';
import { FIRST, LAST, type Section } from './sections.js';

type Run<Part> = { readonly epoch: number; readonly parts: readonly Part[] };

/**
 * Collects whole copies of slots from the sections of several servers. A slot that moved while it was copied has a part of a copy, which
 * does not count, and a whole one of its new server; of two whole ones the one with the higher epoch counts.
 */
export class Coverage<Part> {
  readonly #whole: (Run<Part> | undefined)[] = new Array(SLOTS).fill(undefined);
  /** By server and slot: copies without their last section. */
  readonly #begun = new Map<string, Part[]>();

  /** Sections of one server come in order. */
  add(server: number, { slot, flags, epoch }: Pick<Section, 'slot' | 'flags' | 'epoch'>, part: Part): void {
    const key = `${server} ${slot}`;
    const parts = flags & FIRST ? [] : this.#begun.get(key);
    if (parts === undefined) return;
    parts.push(part);
    if (!(flags & LAST)) {
      this.#begun.set(key, parts);
      return;
    }
    this.#begun.delete(key);
    const before = this.#whole[slot];
    if (before === undefined || before.epoch <= epoch) this.#whole[slot] = { epoch, parts };
  }

  /** Slots without a whole copy. */
  get missing(): number[] {
    return this.#whole.flatMap((run, slot) => (run === undefined ? [slot] : []));
  }

  /** The parts of the copy that counts. */
  parts(slot: number): readonly Part[] {
    return this.#whole[slot]?.parts ?? [];
  }
}
