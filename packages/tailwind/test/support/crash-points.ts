import { readShape } from '@rdmc/common/shapes';
import { decodeDigest, planRecovery } from '@rdmc/tailwind/format';
import type { Replica } from '../../src/backup/replica.js';
import type { ReplicaTable } from '../../src/backup/replica-table.js';
import { messageOf } from '../../src/errors.js';
import { segmentEntries } from '../../src/format/scan.js';
import { inventoryEntry } from '../../src/rpc/inventory-entry.js';
import { type InventoryEntry, inventoryAnswer } from '../../src/rpc/messages.js';
import scan from '../../src/scan-worker.js';
import type { ScanAnswer } from '../../src/scanner/scan-job.js';
import type { SegmentRef } from '../../src/segment-key.js';
import type { ClusterMember } from './cluster.js';
import { NewestOfKeys } from './key-store.js';

/** One replica as a recovery finds it. */
interface Found {
  readonly entry: InventoryEntry;
  readonly complete: Uint8Array;
  /** False: not reported to a recovery. */
  readonly committed: boolean;
}

/** The replicas of a log at all backups at one moment: the state that is left if its primary dies now. */
export type CrashPoint = ReadonlyMap<number, readonly Found[]>;

const EFFECTS = [
  'openReplica',
  'closeReplica',
  'commitReplica',
  'restoreReplica',
  'setEpoch',
  'freeReplica',
] as const;

/**
 * Inspects all backups of a log after every effect of a request at one of them, and whenever `look` is called. The log
 * is not fenced and continues: open replicas are copied in the turn of the event loop of the inspection. Closed
 * replicas do not change any more and are copied once.
 */
export class CrashPoints {
  readonly #closed = new WeakMap<Replica, Promise<ScanAnswer & { readonly shared: SharedArrayBuffer }>>();
  readonly #looks: Promise<void>[] = [];
  #isEnded = false;

  /** @param begin called at the inspection; returns the function that judges it */
  constructor(
    private readonly members: readonly Pick<ClusterMember, 'id' | 'backup'>[],
    private readonly logId: bigint,
    private readonly begin: () => (point: CrashPoint) => void,
  ) {
    for (const { id, backup } of members) {
      for (const name of EFFECTS) {
        const effect = backup[name].bind(backup) as (ref: SegmentRef, ...given: unknown[]) => unknown;
        // A method that does not return a promise has taken effect when it returns; its answer is sent later.
        const watched = (ref: SegmentRef, ...given: unknown[]): unknown => {
          const after = `${name} of segment ${ref.segmentId} at backup ${id}`;
          const done = effect(ref, ...given);
          if (done instanceof Promise) return done.finally(() => this.look(after));
          this.look(after);
          return done;
        };
        Object.assign(backup, { [name]: watched });
      }
    }
  }

  /** @param after the last event, for the error of a failed judgement */
  look(after: string): void {
    if (this.#isEnded) return;
    const judge = this.begin();
    const all = this.members.map(async ({ id, backup }): Promise<[number, Found[]]> => {
      const { replicas } = backup as unknown as { readonly replicas: ReplicaTable };
      return [id, await Promise.all(replicas.ofLog(this.logId).map((replica) => this.#find(replica)))];
    });
    const judged = Promise.all(all).then((found) => {
      const point = new Map(found);
      try {
        judge(point);
      } catch (error) {
        throw new Error(`After ${after}: ${messageOf(error)}\n${described(point)}`, { cause: error });
      }
    });
    judged.catch(() => {}); // `judged` tells
    this.#looks.push(judged);
  }

  /** Resolves with the number of inspections so far, when all were judged. @throws the error of a judgement */
  async judged(): Promise<number> {
    await Promise.all(this.#looks);
    return this.#looks.length;
  }

  /**
   * Stops the inspections. To be called before the log is recovered: a completed recovery frees the replicas, while an
   * earlier effect (the removal of a replica's file, for example) may not be complete yet.
   */
  end(): void {
    this.#isEnded = true;
    for (const { backup } of this.members) for (const name of EFFECTS) Reflect.deleteProperty(backup, name);
  }

  async #find(replica: Replica): Promise<Found> {
    const { record, isOpen } = replica;
    const scanned = this.#closed.get(replica) ?? scanOf(replica);
    if (!isOpen) this.#closed.set(replica, scanned);
    const { result, shared, digest } = await scanned;
    const report = isOpen ? { record, scan: result, digest } : { record, scan: undefined, digest: undefined };
    const [entry] = readShape(inventoryAnswer, [inventoryEntry(report)]);
    return {
      entry: entry!,
      complete: new Uint8Array(shared, 0, result.offset),
      committed: record.committed,
    };
  }
}

/** Judges the remaining state, without a loss and after the loss of each backup. @throws with the lost backup */
export function withEachLost(point: CrashPoint, judge: (lost: number | undefined) => void): void {
  for (const lost of [undefined, ...point.keys()]) {
    try {
      judge(lost);
    } catch (error) {
      const which = lost === undefined ? 'no backup' : `backup ${lost}`;
      throw new Error(`with ${which} lost: ${messageOf(error)}`, { cause: error });
    }
  }
}

/** The result of a recovery from this state, with one backup lost or none. @throws as planRecovery */
export function recoveredAt(point: CrashPoint, logId: bigint, lost: number | undefined): NewestOfKeys {
  const here = [...point].filter(([member]) => member !== lost);
  const inventories = here.map(([member, found]) => ({
    member,
    replicas: found.filter(({ committed }) => committed).map(({ entry }) => entry),
  }));
  const { segments } = planRecovery(logId, inventories, { segmentId: 0n, epoch: 0 });
  const newest = new NewestOfKeys();
  for (const { segmentId, candidates } of segments) {
    const replica = point
      .get(candidates[0]!)!
      .find(({ entry, committed }) => committed && entry.segmentId === segmentId)!;
    newest.take(segmentEntries(replica.complete, replica.complete.length));
  }
  return newest;
}

/** One line for each backup and each of its replicas. */
function described(point: CrashPoint): string {
  return [...point]
    .flatMap(([member, found]) => [
      `backup ${member}:`,
      ...found.map((each) => `  ${describedReplica(each)}`),
    ])
    .join('\n');
}

function describedReplica({ entry, complete, committed }: Found): string {
  const { segmentId, epoch, state, survivor, byteLength, scan: open, digest } = entry;
  const what = `${state} ${survivor ? 'survivor' : 'head'}${committed ? '' : ', not committed'}`;
  const named =
    digest === null ? 'no digest' : `digest ${decodeDigest(Buffer.from(digest, 'base64')).join(' ')}`;
  const bytes = open
    ? `${complete.length} bytes complete (${open.status}, ${open.reason}), ${named}`
    : `${byteLength} bytes`;
  return `segment ${segmentId}: ${what}, epoch ${epoch}, ${bytes}`;
}

/** The bytes are copied at once. */
async function scanOf({
  record,
  buffer,
  certificate,
}: Replica): Promise<ScanAnswer & { readonly shared: SharedArrayBuffer }> {
  if (!buffer) throw new Error(`replica ${record.segmentId} was closed and written between two inspections`);
  const shared = new SharedArrayBuffer(record.segmentBytes);
  new Uint8Array(shared).set(buffer.view(0, record.segmentBytes));
  const { logId, segmentId, incarnation, floorBytes } = record;
  const identity = { logId, segmentId, incarnation };
  const { byteLength } = shared;
  return { ...(await scan({ shared, byteLength, identity, certificate, floorBytes })), shared };
}
