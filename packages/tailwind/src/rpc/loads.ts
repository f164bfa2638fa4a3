import type { MemoryRegion, ProtectionDomain } from '@rdmc/verbs';
import type { Backup } from '../backup/backup.js';
import { MAX_LOADS_PER_MEMBER } from '../constants.js';
import { TailwindError } from '../errors.js';
import type { ScanResult } from '../format/scan.js';
import type { SegmentRef } from '../segment-key.js';

interface Load {
  readonly member: number;
  readonly region: MemoryRegion;
}

/** Replicas that were loaded for recoveries: members may read them from memory. */
export class Loads {
  readonly #loads = new Map<number, Load>();
  /** Number of loads per member, those under way included. */
  readonly #counts = new Map<number, number>();
  /** Loads under way. */
  readonly #pending = new Set<{ readonly member: number; isGone: boolean }>();
  #last = 0;

  constructor(
    private readonly protectionDomain: ProtectionDomain,
    private readonly backup: Backup,
  ) {}

  /** @throws TailwindError ERR_RDMC_BACKUP_FULL, ERR_RDMC_REPLICA_UNKNOWN; errors of the file system */
  async begin(member: number, ref: SegmentRef) {
    const count = this.#counts.get(member) ?? 0;
    if (count >= MAX_LOADS_PER_MEMBER) {
      throw new TailwindError(
        'ERR_RDMC_BACKUP_FULL',
        `Member ${member} has ${count} replicas loaded here, which is the limit; unload one first`,
      );
    }
    this.#counts.set(member, count + 1);
    try {
      return await this.#begin(member, ref);
    } catch (error) {
      this.#uncount(member);
      throw error;
    }
  }

  /** Has no effect on a load that does not exist, or belongs to another member. */
  async end(member: number, number: number): Promise<void> {
    const load = this.#loads.get(number);
    if (load?.member !== member) return;
    this.#loads.delete(number);
    this.#uncount(member);
    await load.region.close();
  }

  /** Loads under way end as soon as they are complete. */
  async endAll(member: number): Promise<void> {
    for (const begun of this.#pending) if (begun.member === member) begun.isGone = true;
    const theirs = [...this.#loads].filter(([, load]) => load.member === member);
    await Promise.all(theirs.map(([number]) => this.end(member, number)));
  }

  async #begin(member: number, ref: SegmentRef) {
    const begun = { member, isGone: false };
    this.#pending.add(begun);
    try {
      const { region, scan } = await this.backup.load(ref, ({ result, bytes }) => this.#copy(result, bytes));
      if (begun.isGone) {
        await region.close();
        throw new TailwindError(
          'ERR_RDMC_BACKUP_CLOSED',
          `Member ${member} left before its replica was loaded`,
        );
      }
      this.#last += 1;
      this.#loads.set(this.#last, { member, region });
      return { load: this.#last, address: region.address, rkey: region.rkey, scan };
    } finally {
      this.#pending.delete(begun);
    }
  }

  async #copy(scan: ScanResult, bytes: Uint8Array): Promise<{ region: MemoryRegion; scan: ScanResult }> {
    const region = await this.protectionDomain.allocate(Math.max(1, scan.offset), { remoteRead: true });
    region.view().set(bytes.subarray(0, scan.offset));
    return { region, scan };
  }

  #uncount(member: number): void {
    const count = this.#counts.get(member)! - 1;
    if (count > 0) this.#counts.set(member, count);
    else this.#counts.delete(member);
  }
}
