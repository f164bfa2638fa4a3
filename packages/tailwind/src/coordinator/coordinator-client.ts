import type { Subscription } from '@rdmc/common';
import { list, readShape } from '@rdmc/common/shapes';
import type { Mesh, RequestOptions } from '@rdmc/mesh';
import { bootClock, type Clock } from '../clock.js';
import type { LogAuthority, Minimum } from '../log/authority.js';
import type { SegmentRef } from '../segment-key.js';
import type { Lead } from './lead-view.js';
import { Lease } from './lease.js';
import { type LogRecord, logRecord } from './log-record.js';
import { COORDINATOR_TOPIC, clusterAnswer, leaseAnswer } from './messages.js';
import { MemberChannel } from './term-channel.js';

/** The answer of `beginRecovery`, or the part of it that names the attempt. */
export type RecoveryAttempt = Pick<LogRecord, 'logId' | 'attempt'>;

/**
 * A member's client of the coordinator, which may run at the same member. A member with a mesh and no node creates its
 * own. Where members come and go, the coordinator's process may be replaced, or a standby at another member follows it: requests
 * then go to the one that coordinates, and fail while none does. Answers and orders of a coordinator that another one has
 * followed are refused (ERR_RDMC_COORDINATOR_STALE), as are requests to it that are under way.
 */
export class CoordinatorClient implements LogAuthority {
  readonly #channel: MemberChannel;

  /** @param member the coordinator's id; a standby that follows it is known by what it says */
  constructor(
    mesh: Mesh,
    readonly member: number,
  ) {
    this.#channel = new MemberChannel(mesh, member);
  }

  /** The coordinator with the highest term that this member has seen; undefined: none was. */
  get lead(): Lead | undefined {
    return this.#channel.view.lead;
  }

  /** Called for each coordinator that begins, and again where the connection with it was made again. */
  onLead(listener: (lead: Lead) => void): Subscription {
    return this.#channel.view.onLead(listener);
  }

  /**
   * Asks the member that coordinates on a topic of the application's: `Coordinator.channel` answers.
   * @throws TailwindError ERR_RDMC_COORDINATOR_STALE: another one coordinates since, ask again; MeshError; MeshRemoteError
   */
  request(topic: string, body: unknown, options?: RequestOptions): Promise<unknown> {
    return this.#channel.request(topic, body, options);
  }

  /** Answers orders that the coordinator sends with `Coordinator.channel`. Those of a lower term than was seen are refused. */
  onRequest(topic: string, handler: (from: number, body: unknown) => unknown): Subscription {
    return this.#channel.onRequest(topic, handler);
  }

  /** As `onRequest`, for messages without an answer: those of a lower term are dropped. */
  onMessage(topic: string, listener: (from: number, body: unknown) => void): Subscription {
    return this.#channel.onMessage(topic, listener);
  }

  /** The UUID of the cluster. */
  async clusterId(): Promise<string> {
    return readShape(clusterAnswer, await this.#ask({ op: 'cluster' })).clusterId;
  }

  /** Creates a log of this member, with an id that was never used. */
  async createLog(): Promise<LogRecord> {
    return readShape(logRecord, await this.#ask({ op: 'create-log' }));
  }

  /**
   * Reports that a log is empty and will not be written, because `logs.create` failed. The log need not be recovered.
   * @throws MeshRemoteError with ERR_RDMC_NOT_OWNER, ERR_RDMC_LOG_FENCED
   */
  async abandonLog(logId: bigint): Promise<void> {
    await this.#ask({ op: 'abandon-log', logId: String(logId) });
  }

  /** @throws MeshRemoteError with ERR_RDMC_LOG_UNKNOWN */
  async log(logId: bigint): Promise<LogRecord> {
    return readShape(logRecord, await this.#ask({ op: 'log', logId: String(logId) }));
  }

  /** All logs that were ever created. */
  async logs(): Promise<readonly LogRecord[]> {
    return readShape(list(logRecord), await this.#ask({ op: 'logs' }));
  }

  async raiseMinimum({ logId }: SegmentRef, { segmentId, epoch }: Minimum): Promise<void> {
    await this.#ask({ op: 'raise', logId: String(logId), segmentId: String(segmentId), epoch });
  }

  /** A lease on a log, renewed until it is closed or refused. Without a lease its primary must not serve reads. */
  async lease(logId: bigint, clock: Clock = bootClock): Promise<Lease> {
    const lease = new Lease(async () => {
      return readShape(leaseAnswer, await this.#ask({ op: 'lease', logId: String(logId) })).leaseMs;
    }, clock);
    // Not later: reads wait for the new coordinator's lease.
    const follow = this.onLead(() => lease.renewNow());
    lease.onClose(() => follow.close());
    try {
      await lease.renew();
    } catch (error) {
      lease.close();
      throw error;
    }
    return lease;
  }

  /** Declares a log dead; resolves when its primary does not serve reads any more. @throws MeshRemoteError */
  async beginRecovery(logId: bigint): Promise<LogRecord> {
    return readShape(logRecord, await this.#ask({ op: 'begin-recovery', logId: String(logId) }));
  }

  /** Lets another member recover the log. Has no effect for an attempt that is not the last one. */
  async giveUpRecovery({ logId, attempt }: RecoveryAttempt): Promise<void> {
    await this.#ask({ op: 'give-up-recovery', logId: String(logId), attempt });
  }

  /**
   * A second call with the same successors has no effect.
   * @throws MeshRemoteError with ERR_RDMC_NOT_OWNER for another attempt than the last one, ERR_RDMC_LOG_STATE
   */
  async finishRecovery({ logId, attempt }: RecoveryAttempt, successors: readonly bigint[]): Promise<void> {
    const body = { logId: String(logId), attempt, successors: successors.map(String) };
    await this.#ask({ op: 'finish-recovery', ...body });
  }

  #ask(request: object): Promise<unknown> {
    return this.#channel.request(COORDINATOR_TOPIC, request);
  }
}
