import { setTimeout as delay } from 'node:timers/promises';
import type { Mesh } from '@rdmc/mesh';
import type { MemoryRegion } from '@rdmc/verbs';
import { BACKUP_RETRY_MS, RECOVERY_SEGMENTS_PER_BACKUP } from '../constants.js';
import type { CoordinatorClient, RecoveryAttempt } from '../coordinator/coordinator-client.js';
import type { LogRecord } from '../coordinator/log-record.js';
import { codeOf, messageOf } from '../errors.js';
import { type SegmentEntry, segmentEntries } from '../format/scan.js';
import type { NodeParts } from '../node-parts.js';
import { type Logger, onlyKnownOptions } from '../options.js';
import { askDivide, askFreeLog, askInventory, type BackupConnection } from '../rpc/backup-client.js';
import type { SegmentRef } from '../segment-key.js';
import { type Division, type HeirShare, planSources } from './division.js';
import {
  type BackupInventory,
  incomplete,
  type PlannedSegment,
  planRecovery,
  planSalvage,
  type RecoveryPlan,
} from './plan.js';
import { RecoveryConnections } from './recovery-connections.js';

/** The options of `logs.recover`. */
export interface RecoveryOptions {
  /** `logs.coordinator(memberId)`. */
  readonly coordinator: CoordinatorClient;
  /** The log of the dead primary. */
  readonly logId: bigint;
  /** Members to ask: all that serve a backup (default: all connected members, this one included). */
  readonly backups?: readonly number[];
  /** Default: the node's. */
  readonly logger?: Logger;
}

const KNOWN = ['coordinator', 'logId', 'backups', 'logger'];

/** A segment of a recovered log, during the iteration. */
export interface RecoveredSegment {
  /** Id of the segment in the lost log. */
  readonly segmentId: bigint;
  /** The complete part of the segment. Valid until the next segment is requested. */
  readonly bytes: Uint8Array;
  /** Iterates the entries, in the order of the appends. They are parts of `bytes`. */
  entries(): Generator<SegmentEntry, void>;
}

/**
 * Recovers a log whose primary is dead, at the member that takes it over: declares it dead, fences it at every
 * backup before anything is read there, determines which segments it has, and yields them one by one. Backups scan in
 * parallel; their bytes are fetched by one-sided reads.
 *
 * The new owner replays every segment into a log of its own, awaits its acknowledgements, and calls `finish`. It must
 * not serve before that.
 */
export class Recovery {
  readonly #connections: RecoveryConnections;
  #isFinished = false;

  private constructor(
    private readonly parts: NodeParts,
    private readonly options: RecoveryOptions,
    private readonly log: LogRecord,
    private readonly plan: RecoveryPlan,
    /** Members that were asked; `finish` makes them free their replicas. */
    private readonly backups: readonly number[],
  ) {
    this.#connections = new RecoveryConnections(parts, log.logId);
  }

  /** @internal `Logs.recover`, which says what it throws. */
  static async begin(parts: NodeParts, given: RecoveryOptions): Promise<Recovery> {
    onlyKnownOptions('logs.recover', given, KNOWN);
    const options = { ...(parts.logger && { logger: parts.logger }), ...given };
    const log = await options.coordinator.beginRecovery(options.logId);
    try {
      return await Recovery.#plan(parts, options, log);
    } catch (error) {
      await giveUp(options, log);
      throw error;
    }
  }

  static async #plan(parts: NodeParts, options: RecoveryOptions, log: LogRecord): Promise<Recovery> {
    const { mesh } = parts;
    const { logId, logger } = options;
    const backups = options.backups ?? mesh.members.map(({ id }) => id);
    // The owner is not a backup of its own log. It may be stopped rather than dead, and would not answer.
    const members = backups.filter((id) => id !== log.owner && (id === mesh.id || isConnected(mesh, id)));
    const asked = await Promise.allSettled(
      members.map(async (member) => ({ member, replicas: await askInventory(mesh, member, log) })),
    );
    const inventories: BackupInventory[] = [];
    asked.forEach((result, index) => {
      if (result.status === 'fulfilled') inventories.push(result.value);
      else
        logger?.warn?.(
          { member: members[index], reason: messageOf(result.reason) },
          'a backup does not answer',
        );
    });
    const plan = log.salvage
      ? planSalvage(logId, inventories, log.salvage)
      : planRecovery(logId, inventories, log.minimum);
    const answered = inventories.map(({ member }) => member);
    return new Recovery(parts, options, log, plan, answered);
  }

  /** Ids of all segments, ascending; the last ones may hold nothing. */
  get segmentIds(): bigint[] {
    return this.plan.segments.map(({ segmentId }) => segmentId);
  }

  /**
   * The segments by ascending id; several are fetched ahead. This is the order of the appends, except for entries that
   * cleaning moved: the highest version of a key counts. One consumer; it can start again after an error.
   * @throws TailwindError ERR_RDMC_LOG_INCOMPLETE when every replica of a segment turns out to be damaged
   */
  async *segments(): AsyncGenerator<RecoveredSegment, void> {
    const waiting = [...this.plan.segments];
    const ahead: Promise<{ segment: PlannedSegment; region: MemoryRegion; byteLength: number }>[] = [];
    const most = Math.max(1, this.backups.length) * RECOVERY_SEGMENTS_PER_BACKUP;
    const fill = (): void => {
      while (ahead.length < most && waiting.length > 0) {
        const fetched = this.#fetch(waiting.shift()!);
        fetched.catch(() => {});
        ahead.push(fetched);
      }
    };
    try {
      for (fill(); ahead.length > 0; fill()) {
        const { segment, region, byteLength } = await ahead.shift()!;
        try {
          const bytes = region.view(0, byteLength);
          yield { segmentId: segment.segmentId, bytes, entries: () => segmentEntries(bytes, byteLength) };
        } finally {
          await region.close();
        }
      }
    } finally {
      const rest = await Promise.allSettled(ahead);
      for (const result of rest) if (result.status === 'fulfilled') await result.value.region.close();
    }
  }

  /**
   * Shares the log out among heirs: tells each backup which heir gets which slots. Each heir then calls `logs.pull` with the
   * answer, at the same time as the others, and reads its part from the backups directly.
   *
   * Call `finish` when all heirs have said that their parts are durable in their own logs. An attempt whose heir, backup or leader
   * fails can be begun again by any member; backups then refuse the heirs of the earlier one.
   */
  async divide(shares: readonly HeirShare[]): Promise<Division> {
    const { mesh } = this.parts;
    const { logId, attempt } = this.log;
    const division = { logId, attempt, segments: planSources(this.plan) };
    const told = await Promise.allSettled(
      this.backups.map((member) => askDivide(mesh, member, division, shares)),
    );
    const deaf = new Set<number>();
    told.forEach((result, index) => {
      if (result.status === 'fulfilled') return;
      const member = this.backups[index]!;
      deaf.add(member);
      const reason = messageOf(result.reason);
      this.options.logger?.warn?.({ member, reason }, 'a backup does not take part in a recovery');
    });
    const segments = division.segments.map((segment) => {
      return { ...segment, sources: segment.sources.filter((member) => !deaf.has(member)) };
    });
    return { ...division, segments };
  }

  /**
   * Records the new owners of the log's data, and frees the log's replicas. The new owner must not serve before this.
   * @param successors the logs that hold the data; every entry must be acknowledged there
   */
  async finish(successors: readonly bigint[]): Promise<void> {
    await this.record(successors);
    await this.free();
    await this.close();
  }

  /** The first half of `finish`: the new owners may serve when it has resolved. */
  async record(successors: readonly bigint[]): Promise<void> {
    await this.options.coordinator.finishRecovery(this.log, successors);
    this.#isFinished = true;
  }

  /** The second half: frees the log's replicas. A backup that does not hear of it asks the coordinator later. */
  async free(): Promise<void> {
    const { mesh } = this.parts;
    const { logId, logger } = this.options;
    const freed = await Promise.allSettled(this.backups.map((member) => askFreeLog(mesh, member, logId)));
    freed.forEach((result, index) => {
      if (result.status === 'fulfilled') return;
      logger?.warn?.(
        { member: this.backups[index], reason: messageOf(result.reason) },
        'replicas were not freed',
      );
    });
  }

  /** Closes the connections. Without `finish` the log stays as it is, for another attempt by any member. */
  async close(): Promise<void> {
    if (!this.#isFinished) await giveUp(this.options, this.log);
    this.#isFinished = true;
    await this.#connections.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #fetch(segment: PlannedSegment) {
    const reasons: string[] = [];
    for (const member of this.#inOrder(segment)) {
      try {
        return { segment, ...(await this.#read(member, segment)) };
      } catch (error) {
        reasons.push(`member ${member}: ${messageOf(error)}`);
      }
    }
    throw incomplete(this.options.logId, [segment.segmentId], ` (${reasons.join('; ')})`);
  }

  /** Closed replicas are alike, so their backups take turns. For the head, the longest replica comes first. */
  #inOrder({ segmentId, candidates }: PlannedSegment): number[] {
    if (segmentId === this.plan.headId) return [...candidates];
    const first = Number(segmentId % BigInt(candidates.length));
    return [...candidates.slice(first), ...candidates.slice(0, first)];
  }

  async #read(member: number, { segmentId, floorBytes }: PlannedSegment) {
    const { plane, link } = this.parts;
    const { logId } = this.options;
    const connection = await this.#connections.get(member);
    const { load, address, rkey, scan } = await loadWhenThereIsRoom(connection, { logId, segmentId });
    let region: MemoryRegion | undefined;
    try {
      // After an accepted loss, the intact prefix of a damaged replica counts.
      if (scan.status !== 'ok' && this.log.salvage === null)
        throw new Error(`its replica is corrupt at ${scan.offset}: ${scan.reason}`);
      if (scan.offset < floorBytes)
        throw new Error(`its replica ends at ${scan.offset}, before ${floorBytes}`);
      region = await plane.protectionDomain.allocate(Math.max(1, scan.offset));
      if (scan.offset > 0) {
        const { pair } = connection;
        await link.commands.read({ pair, local: region.sge(0, scan.offset), remote: { address, rkey } });
      }
      return { region, byteLength: scan.offset };
    } catch (error) {
      if (codeOf(error) === 'ERR_RDMC_MEMBER_LOST') await this.#connections.drop(member, connection);
      await region?.close();
      throw error;
    } finally {
      await connection.unload(load).catch(() => {});
    }
  }
}

/**
 * Another recovery of this member may use the backup's whole quota. That is not a fault of the replica: waits and
 * retries.
 */
async function loadWhenThereIsRoom(connection: BackupConnection, ref: SegmentRef) {
  for (;;) {
    try {
      return await connection.load(ref);
    } catch (error) {
      if (codeOf(error) !== 'ERR_RDMC_BACKUP_FULL' || connection.dropped) throw error;
      await delay(BACKUP_RETRY_MS);
    }
  }
}

/** If the coordinator does not receive it, other members may try once this member is gone. */
async function giveUp({ coordinator, logger }: RecoveryOptions, attempt: RecoveryAttempt): Promise<void> {
  await coordinator.giveUpRecovery(attempt).catch((error: unknown) => {
    logger?.warn?.({ reason: messageOf(error) }, 'the coordinator was not told that a recovery was given up');
  });
}

function isConnected(mesh: Mesh, member: number): boolean {
  return mesh.peers.get(member)?.state === 'connected';
}
