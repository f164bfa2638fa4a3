import { Lifetime, type Subscription } from '@rdmc/common';
import type { Mesh } from '@rdmc/mesh';
import type { QueuePairAddress } from '@rdmc/verbs';
import type { Backup } from '../backup/backup.js';
import { processOf } from '../coordinator/owner-process.js';
import { codeOf, TailwindError } from '../errors.js';
import type { NodeParts } from '../node-parts.js';
import { segmentKey } from '../segment-key.js';
import { type BackupServiceOptions, checkServiceOptions } from './backup-service-options.js';
import { Divisions } from './divisions.js';
import { inventoryEntry } from './inventory-entry.js';
import { Loads } from './loads.js';
import { type Claim, LogClaims } from './log-claims.js';
import { MemberPairs } from './member-pairs.js';
import { BACKUP_TOPIC, type BackupRequest, backupRequest } from './messages.js';
import { readRequest } from './read-request.js';
import { Sweeper } from './sweeper.js';
import { Turns } from './turns.js';

type Request<Op extends BackupRequest['op']> = Extract<BackupRequest, { op: Op }>;
type RecoveryRequest = Request<'load' | 'unload' | 'free-log' | 'divide' | 'part' | 'read'>;
type SegmentRequest = Request<'open' | 'close' | 'commit' | 'restore' | 'retake' | 'epoch' | 'free'>;

/** Lets the members of a mesh use a backup: answers their requests, and owns the queue pairs for their writes. */
export class BackupService {
  readonly #pairs: MemberPairs;
  readonly #loads: Loads;
  readonly #divisions: Divisions;
  readonly #claims: LogClaims;
  /** Requests for one segment take effect in the order in which its primary sent them. */
  readonly #turns = new Turns();
  readonly #sweeper: Sweeper;
  readonly #mesh: Mesh;
  readonly #lifetime = new Lifetime();
  /** How often each member was lost, or left. */
  readonly #losses = new Map<number, number>();
  #subscriptions: Subscription[] = [];

  private constructor(
    private readonly parts: NodeParts,
    private readonly backup: Backup,
    options: BackupServiceOptions,
  ) {
    const { coordinator, intervalMs, divider, logger = parts.logger } = checkServiceOptions(options);
    this.#mesh = parts.mesh;
    this.#claims = new LogClaims(backup, coordinator);
    this.#sweeper = new Sweeper({
      coordinator,
      intervalMs,
      logger,
      logs: () =>
        new Set([
          ...backup.logIds,
          ...backup.fencedLogs,
          ...this.#claims.logIds,
          ...this.#divisions.attempts.logIds,
        ]),
      forget: (logId) => this.#forgetRecovered(logId),
    });
    this.#pairs = new MemberPairs(parts.link);
    const { protectionDomain } = parts.plane;
    this.#loads = new Loads(protectionDomain, backup);
    this.#divisions = new Divisions(protectionDomain, backup, divider);
  }

  /** @internal `Logs.serve`, which says what it throws. */
  static serve(parts: NodeParts, backup: Backup, options: BackupServiceOptions): BackupService {
    const service = new BackupService(parts, backup, options);
    if ([...parts.open].some((each) => each instanceof BackupService)) {
      throw new TailwindError(
        'ERR_RDMC_BACKUP_SERVED',
        `Member ${parts.mesh.id} serves a backup already; close that service first`,
      );
    }
    service.#begin();
    return service;
  }

  /**
   * Frees replicas of logs whose recovery this backup missed, and removes their fences: from then on the coordinator
   * refuses their primaries. The service does this periodically when it has a coordinator; without one, it has no
   * effect.
   * @throws MeshError, MeshRemoteError
   */
  freeRecovered(): Promise<void> {
    return this.#sweeper.sweep();
  }

  /** Ends all connections. The backup stays open. */
  async close(): Promise<void> {
    this.parts.open.delete(this);
    for (const each of this.#subscriptions) each.close();
    this.#sweeper.close();
    this.#lifetime.end(new TailwindError('ERR_RDMC_BACKUP_CLOSED', 'The service of this backup is closed'));
    await Promise.all(this.#mesh.members.map(({ id }) => this.#forget(id)));
    await this.#divisions.close();
    this.#lifetime.free();
  }

  /** Aborted when the service stops answering. */
  get signal(): AbortSignal {
    return this.#lifetime.signal;
  }

  /** Resolves when the connections of the service are closed. */
  get closed(): Promise<void> {
    return this.#lifetime.closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #begin(): void {
    this.parts.open.add(this);
    this.backup.onRevoke((key) => this.#pairs.evict(key));
    this.#subscriptions = [
      this.#mesh.onRequest(BACKUP_TOPIC, (from, body) => this.#answer(from, body)),
      this.#mesh.onFailure(({ member }) => {
        void this.#forget(member);
        void this.#divisions.expect();
      }),
      this.#mesh.onLeave((member) => void this.#forget(member)),
    ];
    this.#sweeper.start();
  }

  #answer(from: number, body: unknown): unknown {
    const data = readRequest(backupRequest, body, from, 'backup');
    switch (data.op) {
      case 'claim':
        return this.#claim(from, data.logId, data).then(() => null);
      case 'abandon':
        return this.#abandon(from, data.logId, data.session);
      case 'connect':
        return this.#connect(from, data);
      case 'disconnect':
        return this.#disconnect(from, data.pair);
      case 'inventory':
        return this.#inventory(from, data);
      case 'load':
      case 'unload':
      case 'free-log':
      case 'divide':
      case 'part':
      case 'read':
        return this.#ofRecovery(from, data);
      case 'replicas':
        this.#requireOwner(data.logId, from);
        return this.backup.segmentsOf(data.logId).map(String);
      case 'flushed':
        this.#requireOwner(data.logId, from);
        return this.backup.flushed(data).then(() => null);
      default:
        this.#requireOwner(data.logId, from);
        return this.#turns.run(segmentKey(data), () => this.#ofSegment(from, data));
    }
  }

  async #ofSegment(from: number, request: SegmentRequest): Promise<unknown> {
    const { backup } = this;
    if (request.op === 'open') return this.#open(from, request);
    if (request.op === 'commit') await backup.commitReplica(request, request.epoch, request);
    else if (request.op === 'epoch') backup.setEpoch(request, request.epoch);
    else if (request.op === 'free') await backup.freeReplica(request);
    else if (request.op === 'retake') await backup.checkClosed(request, request);
    else {
      await this.#pairs.evict(segmentKey(request));
      if (request.op === 'close') backup.closeReplica(request, request);
      else await backup.restoreReplica(request, request.epoch, request);
    }
    return null;
  }

  async #ofRecovery(from: number, request: RecoveryRequest): Promise<unknown> {
    if (request.op === 'part') return this.#divisions.part(from, request);
    if (request.op === 'load') {
      this.#divisions.attempts.requireLeader(request.logId, from);
      return this.#loads.begin(from, request);
    }
    if (request.op === 'unload') await this.#loads.end(from, request.load);
    else if (request.op === 'divide') this.#divisions.divide(from, request);
    else if (request.op === 'read') await this.#divisions.read(from, request);
    else {
      this.#divisions.attempts.requireLeader(request.logId, from);
      await this.#forgetLog(request.logId);
    }
    return null;
  }

  /** The log's data belongs to its successors. The log stays fenced here. */
  async #forgetLog(logId: bigint): Promise<void> {
    this.backup.fence(logId);
    await this.#pairs.dropLog(logId);
    await this.#divisions.forget(logId);
    await this.backup.freeLog(logId);
    this.#claims.forget(logId);
  }

  /**
   * Operations of the primary that are under way fail for want of a claim, and the coordinator refuses another claim.
   */
  async #forgetRecovered(logId: bigint): Promise<void> {
    await this.#forgetLog(logId);
    if (!this.#claims.isAsked(logId)) this.backup.unfence(logId);
  }

  /** An open that is under way fails for want of a claim. */
  async #abandon(from: number, logId: bigint, session: string): Promise<null> {
    this.backup.admit(logId);
    this.#claims.requireOwner(logId, from, session);
    this.#claims.forget(logId);
    await this.#pairs.dropLog(logId);
    await this.backup.freeLog(logId);
    return null;
  }

  #requireOwner(logId: bigint, from: number): void {
    this.backup.admit(logId);
    this.#claims.requireOwner(logId, from);
  }

  #claim(from: number, logId: bigint, { session, resumes }: Omit<Claim, 'from'>): Promise<void> {
    return this.#claims.claim(logId, { from: processOf(this.#mesh, from), session, resumes });
  }

  async #connect(member: number, { logId, session, resumes, mode, address }: Request<'connect'>) {
    const losses = this.#losses.get(member);
    if (session === null) this.#divisions.attempts.requireReader(logId, member);
    else await this.#claim(member, logId, { session, resumes });
    this.#requireConnected(member, losses);
    const made = await this.#pairs.create(member, logId, mode, address as QueuePairAddress);
    try {
      this.#requireConnected(member, losses);
      if (session !== null) this.#requireOwner(logId, member);
      return made;
    } catch (error) {
      await this.#pairs.drop(made.pair);
      throw error;
    }
  }

  /** A member that is connected again has not asked for what its former connection asked for. */
  #requireConnected(member: number, losses: number | undefined): void {
    const isHere = member === this.#mesh.id || this.#mesh.peers.get(member)?.state === 'connected';
    if (isHere && this.#losses.get(member) === losses) return;
    throw new TailwindError(
      'ERR_RDMC_BACKUP_CLOSED',
      `Member ${member} left before its queue pair was created`,
    );
  }

  async #disconnect(from: number, pair: number): Promise<null> {
    if (this.#pairs.isOf(from, pair)) await this.#pairs.drop(pair);
    return null;
  }

  async #open(from: number, { op: _, pair, ...request }: Request<'open'>) {
    if (pair !== null && !this.#pairs.isOf(from, pair)) {
      throw new TailwindError(
        'ERR_RDMC_NOT_OWNER',
        `Member ${from} does not have a queue pair ${pair} at this backup`,
      );
    }
    const grant = await this.#openAgain(request);
    try {
      this.#claims.requireOwner(request.logId, from);
    } catch (error) {
      await this.backup.freeReplica(request);
      throw error;
    }
    if (pair === null) return { ...grant, key: 0 };
    const key = await this.#pairs.admit(pair, segmentKey(request), grant.address, request.segmentBytes);
    return { ...grant, key };
  }

  /** Opens again: a replica that exists before its segment begins was opened by a request whose answer was lost. */
  async #openAgain(request: Omit<Request<'open'>, 'op' | 'pair'>) {
    try {
      return await this.backup.openReplica(request);
    } catch (error) {
      if (codeOf(error) !== 'ERR_RDMC_REPLICA_EXISTS') throw error;
      await this.backup.freeReplica(request);
      return this.backup.openReplica(request);
    }
  }

  /** Ends both ways of writing, the queue pairs and the regions' keys, before anything is scanned. */
  async #inventory(from: number, { logId, attempt }: Request<'inventory'>) {
    const begun = this.#divisions.begin(logId, from, attempt);
    this.backup.fence(logId);
    await this.#pairs.dropLog(logId);
    await begun;
    return (await this.backup.inventory(logId)).map(inventoryEntry);
  }

  /** Frees connections and loads of a member that left or failed; its replicas stay, for recovery. */
  async #forget(member: number): Promise<void> {
    this.#losses.set(member, (this.#losses.get(member) ?? 0) + 1);
    await Promise.all([this.#pairs.dropMember(member), this.#loads.endAll(member)]);
  }
}
