import type { MemoryRegion, ProtectionDomain } from '@rdmc/verbs';
import type { RingsSetup } from '../records.js';
import { CONTROL_BYTES, type RingShape } from '../small/layout.js';
import { SmallMemory } from '../small/small-memory.js';

/** What a member needs memory for. */
export interface RingNeeds {
  /** Links to the other members, if this one sends; else 0. */
  readonly links: number;
  /** This member receives its own messages as well. */
  readonly receivesOwn: boolean;
  /** The other senders. */
  readonly from: readonly number[];
}

/** The rings of one member of a group of many senders: its own, and one for each other sender. */
export class RingsMemory {
  /** The ring of this member's messages; undefined: it does not send. */
  own: SmallMemory | undefined;
  /** The control words of this member as a receiver of its own messages. */
  self: Int32Array | undefined;
  /** By sender. */
  readonly from = new Map<number, SmallMemory>();
  #words: MemoryRegion | undefined;

  private constructor() {}

  /** @throws VerbsError ERR_RDMC_OUT_OF_MEMORY; then nothing is allocated */
  static async allocate(domain: ProtectionDomain, shape: RingShape, needs: RingNeeds): Promise<RingsMemory> {
    const memory = new RingsMemory();
    try {
      await memory.#allocate(domain, shape, needs);
    } catch (error) {
      await memory.close();
      throw error;
    }
    return memory;
  }

  /** The worker's description. */
  get setup(): Omit<RingsSetup, 'peers'> {
    return {
      own: this.own?.setup ?? null,
      self: this.#words?.handle ?? null,
      from: [...this.from.values()].map(({ setup }) => setup),
    };
  }

  /** Call it when the queue pairs are closed. */
  async close(): Promise<void> {
    const rings = [this.own, ...this.from.values()];
    await Promise.all([this.#words?.close(), ...rings.map((ring) => ring?.close())]);
  }

  async #allocate(
    domain: ProtectionDomain,
    shape: RingShape,
    { links, receivesOwn, from }: RingNeeds,
  ): Promise<void> {
    if (links > 0) this.own = await SmallMemory.allocate(domain, { ...shape, isRoot: true, links });
    if (links > 0 && receivesOwn) {
      this.#words = await domain.allocate(CONTROL_BYTES);
      const { buffer, byteOffset } = this.#words.view(0, CONTROL_BYTES);
      this.self = new Int32Array(buffer, byteOffset, CONTROL_BYTES / 4).fill(0);
    }
    for (const sender of from) {
      this.from.set(sender, await SmallMemory.allocate(domain, { ...shape, isRoot: false, links: 1 }));
    }
  }
}
