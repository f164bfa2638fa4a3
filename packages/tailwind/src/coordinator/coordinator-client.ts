import type { Mesh } from '@rdmc/mesh';
import { z } from 'zod';
import { bootClock, type Clock } from '../clock.js';
import type { LogAuthority, Minimum } from '../log/authority.js';
import type { SegmentRef } from '../segment-key.js';
import { Lease } from './lease.js';
import { type LogRecord, logRecord } from './log-record.js';
import { COORDINATOR_TOPIC, clusterAnswer, leaseAnswer } from './messages.js';

/** A member's view of the coordinator, which may be itself. */
export class CoordinatorClient implements LogAuthority {
  /** @param member the coordinator's id */
  constructor(
    private readonly mesh: Mesh,
    readonly member: number,
  ) {}

  async clusterId(): Promise<string> {
    return clusterAnswer.parse(await this.#ask({ op: 'cluster' })).clusterId;
  }

  /** A log of this member, with an id that was never used. */
  async createLog(): Promise<LogRecord> {
    return logRecord.parse(await this.#ask({ op: 'create-log' }));
  }

  async logs(): Promise<LogRecord[]> {
    return z.array(logRecord).parse(await this.#ask({ op: 'logs' }));
  }

  async raiseMinimum({ logId }: SegmentRef, { segmentId, epoch }: Minimum): Promise<void> {
    await this.#ask({ op: 'raise', logId: String(logId), segmentId: String(segmentId), epoch });
  }

  /** A lease on a log, renewed until it is closed or refused. Without one its primary may not serve reads. */
  async lease(logId: bigint, clock: Clock = bootClock): Promise<Lease> {
    const lease = new Lease(async () => {
      return leaseAnswer.parse(await this.#ask({ op: 'lease', logId: String(logId) })).leaseMs;
    }, clock);
    try {
      await lease.renew();
    } catch (error) {
      lease.close();
      throw error;
    }
    return lease;
  }

  /** Declares a log dead; resolves when its primary serves no reads any more. @throws MeshRemoteError */
  async beginRecovery(logId: bigint): Promise<LogRecord> {
    return logRecord.parse(await this.#ask({ op: 'begin-recovery', logId: String(logId) }));
  }

  async finishRecovery(logId: bigint, successors: readonly bigint[]): Promise<void> {
    await this.#ask({ op: 'finish-recovery', logId: String(logId), successors: successors.map(String) });
  }

  #ask(body: object): Promise<unknown> {
    return this.mesh.request(this.member, COORDINATOR_TOPIC, body);
  }
}
