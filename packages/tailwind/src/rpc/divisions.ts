import type { MemoryRegion, ProtectionDomain } from '@rdmc/verbs';
import type { Backup } from '../backup/backup.js';
import { MAX_DIVIDED_SEGMENTS, MAX_SLOTS } from '../constants.js';
import { TailwindError } from '../errors.js';
import {
  hasPrefix,
  type PlannedPrefix,
  RecoveryAttempts,
  type ToldDivision,
} from '../recovery/recovery-attempts.js';
import { type SegmentRef, segmentKey } from '../segment-key.js';
import type { BackupRequest } from './messages.js';

type Request<Op extends BackupRequest['op']> = Extract<BackupRequest, { op: Op }>;

interface Told extends ToldDivision {
  /** Int16Array: the part of each slot, or −1. */
  readonly partOfSlot: SharedArrayBuffer;
}

/** A segment's parts, in memory that heirs may read. */
interface Divided {
  /** All parts, one behind the other; undefined where none has a byte. */
  readonly region: MemoryRegion | undefined;
  readonly starts: readonly number[];
  readonly lengths: readonly number[];
  /** Parts that were not read yet. */
  readonly unread: Set<number>;
  /** Of these, the ones that an heir may be reading. */
  readonly lent: Set<number>;
}

/**
 * Serves the heirs of a dead log their parts of its segments. Each segment is scanned once, when the first heir asks, and
 * stays in memory until all heirs have their parts.
 */
export class Divisions {
  readonly attempts = new RecoveryAttempts<Told>();
  readonly #divided = new Map<string, { readonly logId: bigint; readonly parts: Promise<Divided> }>();

  constructor(
    private readonly protectionDomain: ProtectionDomain,
    private readonly backup: Pick<Backup, 'load' | 'rehearseScans'>,
    /** URL of the module that gives entries their slots. */
    private readonly divider: string | undefined,
  ) {}

  /** Everything of earlier attempts ends. @throws TailwindError ERR_RDMC_NOT_OWNER */
  async begin(logId: bigint, leader: number, attempt: number): Promise<void> {
    this.attempts.begin(logId, leader, attempt);
    await this.#drop(logId);
  }

  /** A member was lost. Before its log is recovered its lease must end, which is time to prepare. */
  async expect(): Promise<void> {
    if (this.divider !== undefined) await this.backup.rehearseScans(this.divider);
  }

  /** @throws TailwindError ERR_RDMC_NOT_OWNER, ERR_RDMC_INVALID_OPTION */
  divide(from: number, { logId, attempt, heirs, ranges, segments }: Request<'divide'>): void {
    if (this.divider === undefined) {
      const message = 'This backup is served without a `divider`: it cannot give heirs their parts of a log';
      throw new TailwindError('ERR_RDMC_INVALID_OPTION', message);
    }
    const partOfSlot = new SharedArrayBuffer(MAX_SLOTS * Int16Array.BYTES_PER_ELEMENT);
    const table = new Int16Array(partOfSlot).fill(-1);
    for (const [first, last, part] of ranges) table.fill(part, first, last + 1);
    const known = new Map(segments.map((segment): [bigint, PlannedPrefix] => [segment.segmentId, segment]));
    this.attempts.divide(logId, from, attempt, { heirs, segments: known, partOfSlot });
  }

  /**
   * An heir's part of a segment, for one-sided READs until `read`.
   * @throws TailwindError ERR_RDMC_NOT_OWNER, ERR_RDMC_REPLICA_UNKNOWN, ERR_RDMC_REPLICA_MISMATCH; errors of the file system
   */
  async part(from: number, { logId, segmentId, attempt }: Request<'part'>) {
    const { part, prefix, told } = this.attempts.admit(logId, from, attempt, segmentId);
    const { region, starts, lengths, unread, lent } = await this.#segment({ logId, segmentId }, prefix, told);
    // Another attempt may have begun meanwhile.
    this.attempts.admit(logId, from, attempt, segmentId);
    const byteLength = lengths[part]!;
    if (!region || byteLength === 0) {
      await this.read(from, { logId, segmentId, attempt });
      return { address: 0, rkey: 0, byteLength: 0 };
    }
    if (unread.has(part)) lent.add(part);
    return { address: region.address + starts[part]!, rkey: region.rkey, byteLength };
  }

  /** An heir has its part. @throws TailwindError ERR_RDMC_NOT_OWNER, ERR_RDMC_REPLICA_UNKNOWN */
  async read(from: number, { logId, segmentId, attempt }: Omit<Request<'read'>, 'op'>): Promise<void> {
    const { part } = this.attempts.admit(logId, from, attempt, segmentId);
    const key = segmentKey({ logId, segmentId });
    const divided = await this.#divided.get(key)?.parts.catch(() => undefined);
    if (!divided) return;
    divided.unread.delete(part);
    divided.lent.delete(part);
    if (divided.unread.size === 0) await this.#free(key, divided);
  }

  /** The log is recovered. */
  async forget(logId: bigint): Promise<void> {
    this.attempts.forget(logId);
    await this.#drop(logId);
  }

  async close(): Promise<void> {
    await Promise.all(this.attempts.logIds.map((logId) => this.forget(logId)));
  }

  #segment(ref: SegmentRef, prefix: PlannedPrefix, told: Told): Promise<Divided> {
    const key = segmentKey(ref);
    const known = this.#divided.get(key);
    if (known) return known.parts;
    const parts = this.#makeRoom().then(() => this.#scan(ref, prefix, told));
    const made = { logId: ref.logId, parts };
    this.#divided.set(key, made);
    // The next one who asks may be told another reason, or none.
    parts.catch(() => {
      if (this.#divided.get(key) === made) this.#divided.delete(key);
    });
    return parts;
  }

  #scan(ref: SegmentRef, prefix: PlannedPrefix, told: Told): Promise<Divided> {
    const { byteLength } = prefix;
    const parts = told.heirs.length;
    const how = { divider: this.divider!, partOfSlot: told.partOfSlot, parts, byteLength };
    return this.backup.load(
      ref,
      ({ result, partBytes, parts: bytes }) => {
        if (hasPrefix(prefix, result) && partBytes) return this.#copy(partBytes, bytes);
        throw new TailwindError(
          'ERR_RDMC_REPLICA_MISMATCH',
          `Replica ${segmentKey(ref)} is not what the recovery's plan names: it is ${result.status} at ${result.offset} ` +
            `(${result.reason}), and the plan has ${byteLength} bytes`,
        );
      },
      how,
    );
  }

  async #copy(lengths: readonly number[], bytes: Uint8Array): Promise<Divided> {
    let region: MemoryRegion | undefined;
    if (bytes.length > 0) {
      region = await this.protectionDomain.allocate(bytes.length, { remoteRead: true });
      region.view().set(bytes);
    }
    let next = 0;
    const starts = lengths.map((length) => {
      const start = next;
      next += length;
      return start;
    });
    return { region, starts, lengths, unread: new Set(lengths.keys()), lent: new Set() };
  }

  /** An heir that is slow must not make this backup keep the whole log: what nobody reads now can be scanned again. */
  async #makeRoom(): Promise<void> {
    if (this.#divided.size < MAX_DIVIDED_SEGMENTS) return;
    for (const [key, { parts }] of [...this.#divided]) {
      const divided = await Promise.race([parts.catch(() => undefined), undefined]);
      if (divided?.lent.size !== 0) continue;
      await this.#free(key, divided);
      return;
    }
  }

  async #free(key: string, divided: Divided): Promise<void> {
    if ((await this.#divided.get(key)?.parts) === divided) this.#divided.delete(key);
    if (divided.region && !divided.region.closed) await divided.region.close();
  }

  async #drop(logId: bigint): Promise<void> {
    const theirs = [...this.#divided].filter(([, each]) => each.logId === logId);
    for (const [key] of theirs) this.#divided.delete(key);
    const parts = await Promise.allSettled(theirs.map(([, each]) => each.parts));
    for (const result of parts) {
      if (result.status === 'fulfilled' && !result.value.region?.closed) await result.value.region?.close();
    }
  }
}
