import { readShape } from '@rdmc/common/shapes';
import { planRecovery } from '@rdmc/tailwind/format';
import type { Replica } from '../../src/backup/replica.js';
import type { ReplicaTable } from '../../src/backup/replica-table.js';
import { segmentEntries } from '../../src/format/scan.js';
import { inventoryEntry } from '../../src/rpc/inventory-entry.js';
import { type InventoryEntry, inventoryAnswer } from '../../src/rpc/messages.js';
import scan from '../../src/scan-worker.js';
import type { ScanAnswer } from '../../src/scanner/scan-job.js';
import type { ClusterMember } from './cluster.js';
import { NewestOfKeys } from './key-store.js';

/** One replica as a recovery finds it. */
interface Found {
  readonly entry: InventoryEntry;
  readonly complete: Uint8Array;
}

/** What all backups have of a log at one moment: what is left if its primary dies now. */
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
 * Looks at all backups of a log after every effect that a request has at one of them, and whenever `look` is called. The
 * log is not fenced and goes on: replicas are copied in the turn of the event loop in which they are looked at, closed ones,
 * which change no more, once.
 */
export class CrashPoints {
  readonly #closed = new Map<string, Promise<ScanAnswer>>();
  readonly #looks: Promise<void>[] = [];

  /** @param begin called in the moment of the look; what it returns judges it */
  constructor(
    private readonly members: readonly ClusterMember[],
    private readonly logId: bigint,
    private readonly begin: () => (point: CrashPoint) => void,
  ) {
    for (const { backup } of members) {
      for (const name of EFFECTS) {
        const effect = backup[name].bind(backup) as (...given: unknown[]) => unknown;
        // What returns no promise has had its effect when it returns, and the answer to it leaves later.
        const watched = (...given: unknown[]): unknown => {
          const done = effect(...given);
          if (done instanceof Promise) return done.finally(() => this.look());
          this.look();
          return done;
        };
        Object.assign(backup, { [name]: watched });
      }
    }
  }

  look(): void {
    const judge = this.begin();
    const all = this.members.map(async ({ id, backup }): Promise<[number, Found[]]> => {
      const { replicas } = backup as unknown as { readonly replicas: ReplicaTable };
      const mine = replicas.ofLog(this.logId).filter(({ record }) => record.committed);
      return [id, await Promise.all(mine.map((replica) => this.#find(id, replica)))];
    });
    const judged = Promise.all(all).then((found) => judge(new Map(found)));
    judged.catch(() => {}); // `judged` tells
    this.#looks.push(judged);
  }

  /** Resolves with the number of looks so far, when all of them were judged. @throws what one judgement threw */
  async judged(): Promise<number> {
    await Promise.all(this.#looks);
    return this.#looks.length;
  }

  /** From now on the backups are as before. */
  end(): void {
    for (const { backup } of this.members) for (const name of EFFECTS) Reflect.deleteProperty(backup, name);
  }

  async #find(member: number, replica: Replica): Promise<Found> {
    const { record, isOpen } = replica;
    const key = `${member}/${replica.key}`;
    const scanned = this.#closed.get(key) ?? scanOf(replica);
    if (!isOpen) this.#closed.set(key, scanned);
    const { result, shared, digest } = await scanned;
    const report = isOpen ? { record, scan: result, digest } : { record, scan: undefined, digest: undefined };
    const [entry] = readShape(inventoryAnswer, [inventoryEntry(report)]);
    return { entry: entry!, complete: new Uint8Array(shared, 0, result.offset) };
  }
}

/** What a recovery gives that finds this, where one backup, or none, is lost with the primary. @throws as planRecovery */
export function recoveredAt(point: CrashPoint, logId: bigint, lost: number | undefined): NewestOfKeys {
  const here = [...point].filter(([member]) => member !== lost);
  const inventories = here.map(([member, found]) => ({ member, replicas: found.map(({ entry }) => entry) }));
  const { segments } = planRecovery(logId, inventories, { segmentId: 0n, epoch: 0 });
  const newest = new NewestOfKeys();
  for (const { segmentId, candidates } of segments) {
    const replica = point.get(candidates[0]!)!.find(({ entry }) => entry.segmentId === segmentId)!;
    newest.take(segmentEntries(replica.complete, replica.complete.length));
  }
  return newest;
}

/** The bytes are copied at once. */
function scanOf({ record, buffer, certificate }: Replica): Promise<ScanAnswer> {
  if (!buffer) throw new Error(`replica ${record.segmentId} was closed and written while nobody looked`);
  const shared = new SharedArrayBuffer(record.segmentBytes);
  new Uint8Array(shared).set(buffer.view(0, record.segmentBytes));
  const { logId, segmentId, incarnation, floorBytes } = record;
  return scan({ source: { shared }, identity: { logId, segmentId, incarnation }, certificate, floorBytes });
}
