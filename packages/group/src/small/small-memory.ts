import type { MemoryRegion, ProtectionDomain } from '@rdmc/verbs';
import type { SmallSetup } from '../records.js';
import { CONTROL_BYTES, ringUnits, UNIT_BYTES } from './layout.js';

/** The memory of the small-message path at one member: its ring, and the words that its two threads share. */
export class SmallMemory {
  readonly control: Int32Array;

  private constructor(
    readonly ring: MemoryRegion,
    private readonly words: MemoryRegion,
    private readonly links: number,
    /** It belongs to a receiver that writes to others. */
    readonly isRelay: boolean,
  ) {
    const view = words.view(0, CONTROL_BYTES);
    this.control = new Int32Array(view.buffer, view.byteOffset, CONTROL_BYTES / 4).fill(0);
  }

  /**
   * @param links queue pairs of this member: one for each member to which it writes, and a receiver's to the one that writes to it
   * @throws VerbsError ERR_RDMC_OUT_OF_MEMORY
   */
  static async allocate(
    domain: ProtectionDomain,
    smallMessageBytes: number,
    { isRoot, links }: { readonly isRoot: boolean; readonly links: number },
  ): Promise<SmallMemory> {
    const ring = await domain.allocate(ringUnits(smallMessageBytes) * UNIT_BYTES, { remoteWrite: !isRoot });
    try {
      return new SmallMemory(ring, await domain.allocate(CONTROL_BYTES), links, !isRoot && links > 1);
    } catch (error) {
      await ring.close();
      throw error;
    }
  }

  /** The bytes of the ring. */
  get bytes(): Uint8Array {
    return this.ring.view(0, this.#units * UNIT_BYTES);
  }

  /** The worker's description. */
  get setup(): SmallSetup {
    return { control: this.words.handle, ring: this.ring.handle, units: this.#units, links: this.links };
  }

  /** Call it when the queue pairs are closed. */
  async close(): Promise<void> {
    await Promise.all([this.ring.close(), this.words.close()]);
  }

  get #units(): number {
    return 2 ** Math.floor(Math.log2(this.ring.byteLength / UNIT_BYTES));
  }
}
