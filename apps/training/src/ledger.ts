import { join } from 'node:path';
import { decodeObject, EntryType, type Log } from '@rdmc/tailwind';
import { Coordinator, FileStore } from '@rdmc/tailwind/coordinator';
import type { TrainingNode } from './node.js';
import { TRAINER } from './settings.js';
import { decodeRecord, encodeRecord, type StepRecord } from './step-record.js';

/** Small, so that a long job uses many segments. */
export const SEGMENT_BYTES = 65_536;

/** The trainer does not answer requests from the log, so it does not use leases, and a recovery does not wait for them. */
const NO_LEASES = { leaseMs: 1, leaseMarginMs: 0 };

/** The replicated log of a job's steps, and its coordinator, which the trainer has as well. */
export class Ledger {
  #log: Log | undefined;

  private constructor(
    private readonly node: TrainingNode,
    private readonly coordinator: Coordinator,
  ) {}

  static async open(node: TrainingNode, directory: string): Promise<Ledger> {
    const store = await FileStore.open(join(directory, 'coordinator'));
    return new Ledger(node, await Coordinator.open({ mesh: node.mesh, store, ...NO_LEASES }));
  }

  get clusterId(): string {
    return this.coordinator.clusterId;
  }

  /** Members that have the newest segment. */
  get backups(): number[] {
    return [...(this.#log?.backups ?? [])].sort((one, other) => one - other);
  }

  /** When all backups are served. */
  async begin(backups: readonly number[], replicas: number): Promise<void> {
    const { logs } = this.node;
    const authority = logs.coordinator(TRAINER);
    const { logId, incarnation } = await authority.createLog();
    const size = { segmentBytes: SEGMENT_BYTES, replicas };
    this.#log = await logs.create({ authority, logId, incarnation, backups, ...size });
  }

  /** Resolves when all replicas have it, also the replacements of lost ones. */
  async append(record: StepRecord): Promise<void> {
    await this.#log!.append({ type: EntryType.OBJECT, parts: encodeRecord(record) }).acknowledged;
  }

  /** Closes the log, and recovers it from its backups, as another member would after the trainer's death. */
  async readBack(): Promise<StepRecord[]> {
    const { logs, mesh } = this.node;
    const { id: logId } = this.#log!;
    await this.#log!.close();
    const backups = [...mesh.peers.values()].filter(({ state }) => state === 'connected').map(({ id }) => id);
    const recovery = await logs.recover({ coordinator: logs.coordinator(TRAINER), logId, backups });
    const records: StepRecord[] = [];
    for await (const segment of recovery.segments()) {
      for (const { type, payload } of segment.entries()) {
        if (type === EntryType.OBJECT) records.push(decodeRecord(decodeObject(payload)));
      }
    }
    await recovery.finish([]); // no member continues the log, so its replicas are freed
    return records;
  }

  close(): Promise<void> {
    return this.coordinator.close();
  }
}
