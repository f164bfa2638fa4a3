import { readShape, type Shape } from '@rdmc/common/shapes';
import type { Mesh } from '@rdmc/mesh';
import type { QueuePairAddress } from '@rdmc/verbs';
import { CLAIM_TIMEOUT_MS } from '../constants.js';
import type { RecoveryAttempt } from '../coordinator/coordinator-client.js';
import { TailwindError } from '../errors.js';
import type { Certificate } from '../format/scan.js';
import type { ReplicationMode } from '../records.js';
import type { Division, HeirShare } from '../recovery/division.js';
import type { SegmentRef } from '../segment-key.js';
import type { WorkerLink } from '../worker-link.js';
import {
  BACKUP_TOPIC,
  connectAnswer,
  grantAnswer,
  type InventoryEntry,
  inventoryAnswer,
  loadAnswer,
  partAnswer,
  replicasAnswer,
} from './messages.js';

export interface ConnectionOptions {
  readonly mesh: Mesh;
  readonly link: WorkerLink;
  readonly logId: bigint;
  /** The session of the log that writes; null for a recovery, which only reads replicas. */
  readonly session: string | null;
  readonly mode: ReplicationMode;
  readonly retryTimeoutMs: number;
  /** Whether the log writes at other backups already (default false). */
  readonly resumes?: boolean;
  /** False from the moment at which the mesh's connection with the backup has ended (default: always true). */
  readonly isCurrent?: () => boolean;
}

/** The request that opens a replica, the same for every backup. */
export interface OpenRequest extends SegmentRef {
  readonly incarnation: number;
  readonly epoch: number;
  readonly segmentBytes: number;
  readonly committed: boolean;
  readonly survivor: boolean;
}

/** A member's connection to one backup, for one log: a queue pair for data, and requests for everything else. */
export class BackupConnection {
  #dropped: Promise<void> | undefined;

  private constructor(
    readonly member: number,
    /** Number of the queue pair at this member. */
    readonly pair: number,
    /** Number of the queue pair at the backup. */
    private readonly remotePair: number,
    readonly transport: string,
    private readonly options: ConnectionOptions,
  ) {}

  /** @throws MeshError, MeshRemoteError, VerbsError */
  static async connect(member: number, options: ConnectionOptions): Promise<BackupConnection> {
    const { mesh, link, logId, session, resumes = false, mode, retryTimeoutMs } = options;
    const pair = link.number();
    const own = await link.commands.createPair({ pair, side: 'primary', mode });
    let remotePair: number | undefined;
    try {
      const request = { op: 'connect', logId: String(logId), session, resumes, mode, address: own };
      const answer = readShape(connectAnswer, await mesh.request(member, BACKUP_TOPIC, request));
      const { address } = answer;
      remotePair = answer.pair;
      const transport = await link.commands.connect({
        pair,
        address: address as QueuePairAddress,
        retryTimeoutMs,
      });
      return new BackupConnection(member, pair, remotePair, transport, options);
    } catch (error) {
      if (remotePair !== undefined) disconnect(mesh, member, remotePair);
      await link.commands.drop(pair);
      throw error;
    }
  }

  get dropped(): boolean {
    return this.#dropped !== undefined;
  }

  open(request: OpenRequest) {
    const pair = this.options.mode === 'rpc' ? this.remotePair : null;
    return this.#ask('open', { ...request, ...refText(request), pair }, grantAnswer);
  }

  async close(ref: SegmentRef, { byteLength, checksum }: Certificate): Promise<void> {
    await this.#tell('close', { ...refText(ref), byteLength, checksum });
  }

  async flushed(ref: SegmentRef): Promise<void> {
    await this.#tell('flushed', refText(ref));
  }

  async commit(ref: SegmentRef, epoch: number, { byteLength, checksum }: Certificate): Promise<void> {
    await this.#tell('commit', { ...refText(ref), epoch, byteLength, checksum });
  }

  /** Commits and closes a copy of a closed replica, in one step. */
  async restore(ref: SegmentRef, epoch: number, { byteLength, checksum }: Certificate): Promise<void> {
    await this.#tell('restore', { ...refText(ref), epoch, byteLength, checksum });
  }

  /** A closed replica from before the backup was lost counts again, if it is complete. */
  async retake(ref: SegmentRef, { byteLength, checksum }: Certificate): Promise<void> {
    await this.#tell('retake', { ...refText(ref), byteLength, checksum });
  }

  async setEpoch(ref: SegmentRef, epoch: number): Promise<void> {
    await this.#tell('epoch', { ...refText(ref), epoch });
  }

  /** Loads a replica into memory of the backup, for `read` until `unload`. */
  load(ref: SegmentRef) {
    return this.#ask('load', refText(ref), loadAnswer);
  }

  /** An heir's part of a segment, in memory of the backup until `read`. */
  part(ref: SegmentRef, attempt: number) {
    return this.#ask('part', { ...refText(ref), attempt }, partAnswer);
  }

  async read(ref: SegmentRef, attempt: number): Promise<void> {
    await this.#tell('read', { ...refText(ref), attempt });
  }

  async unload(load: number): Promise<void> {
    await this.#tell('unload', { load });
  }

  /** Ends the queue pair; requests under way on it are lost. */
  drop(): Promise<void> {
    if (!this.#dropped) {
      disconnect(this.options.mesh, this.member, this.remotePair);
      this.#dropped = this.options.link.commands.drop(this.pair);
    }
    return this.#dropped;
  }

  async #ask<Answer>(op: string, body: object, answer: Shape<Answer>): Promise<Answer> {
    return readShape(answer, await this.#tell(op, body));
  }

  /** Nothing of this connection reaches the process that has the member's id afterwards. */
  async #tell(op: string, body: object): Promise<unknown> {
    const { mesh, isCurrent = () => true } = this.options;
    if (isCurrent()) return mesh.request(this.member, BACKUP_TOPIC, { op, ...body });
    throw new TailwindError(
      'ERR_RDMC_MEMBER_LOST',
      `The connection with member ${this.member} has ended; it may be connected again`,
    );
  }
}

/** Fences a log at a backup and asks for its inventory of that log, for an attempt to recover it. */
export async function askInventory(
  mesh: Mesh,
  member: number,
  { logId, attempt }: RecoveryAttempt,
): Promise<readonly InventoryEntry[]> {
  const body = { op: 'inventory', logId: String(logId), attempt };
  return readShape(inventoryAnswer, await mesh.request(member, BACKUP_TOPIC, body));
}

/** Tells a backup which heir gets which slots, and which segments it may be asked for. */
export async function askDivide(
  mesh: Mesh,
  member: number,
  { logId, attempt, segments }: Division,
  shares: readonly HeirShare[],
): Promise<void> {
  const asked = segments.filter(({ sources }) => sources.includes(member));
  await mesh.request(member, BACKUP_TOPIC, {
    op: 'divide',
    logId: String(logId),
    attempt,
    heirs: shares.map((share) => share.member),
    ranges: shares.flatMap(({ ranges }, part) => ranges.map(([from, to]) => [from, to, part])),
    segments: asked.map(({ segmentId, byteLength, checksum }) => {
      return { segmentId: String(segmentId), byteLength, checksum };
    }),
  });
}

export async function askFreeLog(mesh: Mesh, member: number, logId: bigint): Promise<void> {
  await mesh.request(member, BACKUP_TOPIC, { op: 'free-log', logId: String(logId) });
}

/** Asks a backup to free a replica. */
export async function askFree(mesh: Mesh, member: number, ref: SegmentRef): Promise<void> {
  await mesh.request(member, BACKUP_TOPIC, { op: 'free', ...refText(ref) });
}

/** Binds a log's id to its writer at a backup. @throws MeshRemoteError with ERR_RDMC_LOG_EXISTS */
export async function askClaim(mesh: Mesh, member: number, logId: bigint, session: string): Promise<void> {
  const body = { op: 'claim', logId: String(logId), session };
  await mesh.request(member, BACKUP_TOPIC, body, { timeoutMs: CLAIM_TIMEOUT_MS });
}

/**
 * Claims a log that is being written at a backup that was lost and is back. Resolves with the segments of which it has a
 * replica. @throws MeshError, MeshRemoteError
 */
export async function askReplicas(
  mesh: Mesh,
  member: number,
  logId: bigint,
  session: string,
): Promise<readonly bigint[]> {
  const log = { logId: String(logId) };
  const ask = (body: object) => mesh.request(member, BACKUP_TOPIC, body, { timeoutMs: CLAIM_TIMEOUT_MS });
  await ask({ op: 'claim', ...log, session, resumes: true });
  return readShape(replicasAnswer, await ask({ op: 'replicas', ...log }));
}

/**
 * Withdraws a claim, and frees everything that was opened under it. @throws MeshRemoteError with ERR_RDMC_NOT_OWNER
 */
export async function askAbandon(mesh: Mesh, member: number, logId: bigint, session: string): Promise<void> {
  const body = { op: 'abandon', logId: String(logId), session };
  await mesh.request(member, BACKUP_TOPIC, body, { timeoutMs: CLAIM_TIMEOUT_MS });
}

/** If the member does not receive it, its end of the queue pair ended with the member. */
function disconnect(mesh: Mesh, member: number, pair: number): void {
  mesh.request(member, BACKUP_TOPIC, { op: 'disconnect', pair }).catch(() => {});
}

function refText({ logId, segmentId }: SegmentRef) {
  return { logId: String(logId), segmentId: String(segmentId) };
}
