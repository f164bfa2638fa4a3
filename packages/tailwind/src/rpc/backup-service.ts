import type { DataPlane } from '@rdmc/dataplane';
import type { Mesh } from '@rdmc/mesh';
import type { MemoryRegion, QueuePairAddress } from '@rdmc/verbs';
import type { Backup } from '../backup/backup.js';
import type { ReplicaReport } from '../backup/backup-types.js';
import { DEFAULT_RETRY_TIMEOUT_MS } from '../constants.js';
import { TailwindError } from '../errors.js';
import { segmentKey } from '../segment-key.js';
import { WorkerLink } from '../worker-link.js';
import { BACKUP_TOPIC, type BackupRequest, backupRequest } from './messages.js';

type Request<Op extends BackupRequest['op']> = Extract<BackupRequest, { op: Op }>;

interface Connection {
  readonly pair: number;
  readonly member: number;
  readonly logId: bigint;
}

interface Load {
  readonly member: number;
  readonly region: MemoryRegion;
}

/** Lets the members of a mesh use a backup: answers their requests, and holds the queue pairs they write through. */
export class BackupService {
  readonly #link: WorkerLink;
  readonly #connections = new Map<number, Connection>();
  /** In the RPC scheme, the key of each replica's buffer. */
  readonly #keys = new Map<string, number>();
  readonly #loads = new Map<number, Load>();
  readonly #unsubscribe: (() => void)[];

  constructor(
    private readonly mesh: Mesh,
    private readonly plane: DataPlane,
    private readonly backup: Backup,
  ) {
    this.#link = WorkerLink.of(plane);
    this.#unsubscribe = [
      mesh.onRequest(BACKUP_TOPIC, (from, body) => this.#answer(from, body)),
      mesh.onFailure(({ member }) => void this.#forget(member)),
      mesh.onLeave((member) => void this.#forget(member)),
    ];
  }

  /** Ends all connections. The backup stays as it is. */
  async close(): Promise<void> {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    await Promise.all(
      [...new Set(this.mesh.members.map(({ id }) => id))].map((member) => this.#forget(member)),
    );
  }

  #answer(from: number, body: unknown): unknown {
    const { success, data, error } = backupRequest.safeParse(body);
    if (!success) {
      throw new TailwindError(
        'ERR_RDMC_PROTOCOL',
        `Member ${from} asks what no backup understands: ${error.message}`,
      );
    }
    switch (data.op) {
      case 'connect':
        return this.#connect(from, data);
      case 'open':
        return this.#open(data);
      case 'close':
        return this.#close(data);
      case 'load':
        return this.#load(from, data);
      case 'unload':
        return this.#unload(data.load);
      case 'inventory':
        return this.#inventory(data.logId);
      default:
        return this.#simple(data);
    }
  }

  async #simple(request: Request<'flushed' | 'commit' | 'epoch' | 'free' | 'free-log'>): Promise<null> {
    const { backup } = this;
    if (request.op === 'flushed') await backup.flushed(request);
    else if (request.op === 'commit') await backup.commitReplica(request, request.epoch, request);
    else if (request.op === 'epoch') backup.setEpoch(request, request.epoch);
    else if (request.op === 'free') {
      await this.#evict(segmentKey(request));
      await backup.freeReplica(request);
    } else await backup.freeLog(request.logId);
    return null;
  }

  async #connect(member: number, { logId, mode, address }: Request<'connect'>) {
    const pair = this.#link.number();
    const own = await this.#link.createPair({ pair, side: 'backup', mode });
    this.#connections.set(pair, { pair, member, logId });
    // The other side connects at the same time, so nobody waits for this; if it fails, its first write does too.
    this.#link
      .connect(pair, address as QueuePairAddress, DEFAULT_RETRY_TIMEOUT_MS)
      .catch(() => this.#drop(pair));
    return { pair, address: own };
  }

  async #open({ op: _, pair, ...request }: Request<'open'>) {
    const grant = await this.backup.openReplica(request);
    if (pair === null) return { ...grant, key: 0 };
    const key = this.#link.number();
    this.#keys.set(segmentKey(request), key);
    await this.#link.admit(pair, key, grant.address, request.segmentBytes);
    return { ...grant, key };
  }

  async #close(request: Request<'close'>): Promise<null> {
    await this.#evict(segmentKey(request));
    this.backup.closeReplica(request, request);
    return null;
  }

  /** Both ways of writing end before anything is scanned: the queue pairs, and the regions' keys. */
  async #inventory(logId: bigint) {
    const mine = [...this.#connections.values()].filter((connection) => connection.logId === logId);
    this.backup.fence(logId);
    await Promise.all(mine.map(({ pair }) => this.#drop(pair)));
    return (await this.backup.inventory(logId)).map(inventoryEntry);
  }

  async #load(member: number, request: Request<'load'>) {
    const { result, shared } = await this.backup.load(request);
    const { protectionDomain } = this.plane;
    const region = await protectionDomain.allocate(Math.max(1, result.offset), { remoteRead: true });
    region.view().set(new Uint8Array(shared, 0, result.offset));
    const load = this.#link.number();
    this.#loads.set(load, { member, region });
    return { load, address: region.address, rkey: region.rkey, scan: result };
  }

  async #unload(number: number): Promise<null> {
    const load = this.#loads.get(number);
    this.#loads.delete(number);
    await load?.region.close();
    return null;
  }

  async #evict(replica: string): Promise<void> {
    const key = this.#keys.get(replica);
    this.#keys.delete(replica);
    if (key !== undefined) await this.#link.evict(key);
  }

  /** Of a member that is gone, connections and loads go; its replicas stay, for recovery. */
  async #forget(member: number): Promise<void> {
    const pairs = [...this.#connections.values()].filter((connection) => connection.member === member);
    const loads = [...this.#loads].filter(([, load]) => load.member === member);
    await Promise.all([
      ...pairs.map(({ pair }) => this.#drop(pair)),
      ...loads.map(([number]) => this.#unload(number)),
    ]);
  }

  /** A data plane that has ended has taken its queue pairs with it. */
  async #drop(pair: number): Promise<void> {
    this.#connections.delete(pair);
    await this.#link.drop(pair).catch(() => {});
  }
}

function inventoryEntry({ record, scan, digest }: ReplicaReport) {
  const { segmentId, incarnation, epoch, state, lengthBytes, checksum } = record;
  return {
    segmentId: String(segmentId),
    incarnation,
    epoch,
    state,
    lengthBytes,
    checksum,
    scan: scan ?? null,
    digest: digest ? Buffer.from(digest).toString('base64') : null,
  };
}
