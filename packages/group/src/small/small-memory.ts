import { type MemoryRegion, type ProtectionDomain, VerbsError } from '@rdmc/verbs';
import type { SmallSetup } from '../records.js';
import { CONTROL_BYTES, type RingShape, type RingUnits, ringUnits, UNIT_BYTES } from './layout.js';

/** A member's part of a small-message path. */
export interface SmallPart extends RingShape {
  readonly isRoot: boolean;
  /** Queue pairs of this member: one for each member to which it writes, and a receiver's to the one that writes to it. */
  readonly links: number;
}

/** The memory of the small-message path at one member: its rings, and the words that its two threads share. */
export class SmallMemory {
  readonly control: Int32Array;
  #full: Promise<MemoryRegion> | undefined;
  #isClosed = false;

  private constructor(
    private readonly domain: ProtectionDomain,
    /** The first ring. */
    readonly ring: MemoryRegion,
    private readonly words: MemoryRegion,
    private readonly part: SmallPart,
    private readonly units: RingUnits,
  ) {
    const view = words.view(0, CONTROL_BYTES);
    this.control = new Int32Array(view.buffer, view.byteOffset, CONTROL_BYTES / 4).fill(0);
  }

  /** @throws VerbsError ERR_RDMC_OUT_OF_MEMORY */
  static async allocate(domain: ProtectionDomain, part: SmallPart): Promise<SmallMemory> {
    const units = ringUnits(part);
    // Most of the rings of a node with many groups hold few messages: a page comes with the first message in it.
    const ring = await domain.allocate(units.first * UNIT_BYTES, {
      remoteWrite: !part.isRoot,
      populated: false,
    });
    try {
      return new SmallMemory(domain, ring, await domain.allocate(CONTROL_BYTES), part, units);
    } catch (error) {
      await ring.close();
      throw error;
    }
  }

  /** The bytes of the first ring. */
  get bytes(): Uint8Array {
    return this.ring.view(0, this.units.first * UNIT_BYTES);
  }

  /** It belongs to a receiver that writes to others. */
  get isRelay(): boolean {
    return !this.part.isRoot && this.part.links > 1;
  }

  /** The worker's description. */
  get setup(): SmallSetup {
    return {
      control: this.words.handle,
      ring: this.ring.handle,
      units: this.units,
      links: this.part.links,
    };
  }

  /** Allocates the full ring, once. @throws VerbsError ERR_RDMC_OUT_OF_MEMORY, ERR_RDMC_REGION_CLOSED */
  async grow(): Promise<MemoryRegion> {
    if (this.#isClosed) throw new VerbsError('ERR_RDMC_REGION_CLOSED', 'The rings of the group are closed');
    const { domain, part, units } = this;
    this.#full ??= domain.allocate(units.full * UNIT_BYTES, { remoteWrite: !part.isRoot });
    return this.#full;
  }

  /** Nobody uses the full ring: frees it. */
  async shrink(): Promise<void> {
    const full = this.#full;
    this.#full = undefined;
    await closeOf(full);
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Call it when the queue pairs are closed. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([this.ring.close(), this.words.close(), closeOf(this.#full)]);
  }
}

async function closeOf(allocated: Promise<MemoryRegion> | undefined): Promise<void> {
  const region = await allocated?.catch(() => undefined);
  await region?.close();
}
