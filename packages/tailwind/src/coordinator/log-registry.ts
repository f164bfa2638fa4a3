import { randomUUID } from 'node:crypto';
import { readShape } from '@rdmc/common/shapes';
import { codeOf, TailwindError } from '../errors.js';
import type { Minimum } from '../log/authority.js';
import { u64 } from '../rpc/messages.js';
import {
  damagedState,
  decodeLogRecord,
  encodeLogRecord,
  type LogRecord,
  type SalvagedSegment,
} from './log-record.js';
import type { StateStore } from './state-store.js';

const CLUSTER_KEY = 'cluster';
const LAST_LOG_KEY = 'last-log';
const LOG_PREFIX = 'log/';

/** The coordinator's rules over its state: reads, checks and writes every change, and repeats it after a conflict. */
export class LogRegistry {
  /** @param run unique name of this run of the coordinator */
  constructor(
    private readonly store: StateStore,
    private readonly run: string = randomUUID(),
  ) {}

  /** The cluster's UUID; undefined if none was ever created. */
  async knownClusterId(): Promise<string | undefined> {
    return (await this.store.get(CLUSTER_KEY))?.value;
  }

  /** The cluster's UUID; created once. */
  async clusterId(): Promise<string> {
    return this.#change(CLUSTER_KEY, (before) => before ?? randomUUID());
  }

  /** Creates a log with an id that was never used. */
  async createLog(owner: number): Promise<LogRecord> {
    const logId = BigInt(await this.#change(LAST_LOG_KEY, (before) => String(lastLogId(before) + 1n)));
    const record: LogRecord = {
      logId,
      incarnation: Number(logId & 0xffff_ffffn),
      owner,
      state: 'live',
      recoverer: null,
      recovererRun: null,
      attempt: 0,
      minimum: { segmentId: 0n, epoch: 0 },
      successors: [],
      salvage: null,
    };
    await this.store.put(keyOf(logId), encodeLogRecord(record), 0);
    return record;
  }

  /** The log is empty and will not be written, so it counts as recovered. Idempotent. */
  abandonLog(logId: bigint, from: number): Promise<LogRecord> {
    return this.#changeLog(logId, (log) => {
      if (log.owner === from && log.state === 'recovered' && log.attempt === 0) return log;
      requireLive(log, from);
      return { ...log, state: 'recovered' };
    });
  }

  async logs(): Promise<LogRecord[]> {
    return [...(await this.store.list(LOG_PREFIX)).values()].map(({ value }) => decodeLogRecord(value));
  }

  /** @throws TailwindError ERR_RDMC_LOG_UNKNOWN */
  async log(logId: bigint): Promise<LogRecord> {
    const stored = await this.store.get(keyOf(logId));
    if (!stored) throw unknown(logId);
    return decodeLogRecord(stored.value);
  }

  /** Raises the minimum. A lower one has no effect. @throws TailwindError ERR_RDMC_LOG_FENCED, ERR_RDMC_NOT_OWNER */
  raiseMinimum(logId: bigint, from: number, minimum: Minimum): Promise<LogRecord> {
    return this.#changeLog(logId, (log) => {
      requireLive(log, from);
      return isBelow(log.minimum, minimum) ? { ...log, minimum } : log;
    });
  }

  /** Declares a log dead, irrevocably. */
  declareDead(logId: bigint): Promise<LogRecord> {
    return this.#changeLog(logId, (log) => (log.state === 'live' ? { ...log, state: 'recovering' } : log));
  }

  /**
   * Declares a log dead and starts a new attempt to recover it, by `recoverer`. Earlier attempts, also of the same
   * member, cannot finish any more. `isGone` tells whether the former recoverer has left or failed; one of another run
   * of the coordinator counts as gone.
   * @throws TailwindError ERR_RDMC_RECOVERY_RUNNING, ERR_RDMC_LOG_STATE
   */
  beginRecovery(logId: bigint, recoverer: number, isGone: (member: number) => boolean): Promise<LogRecord> {
    return this.#changeLog(logId, (log) => {
      if (log.state === 'recovered') {
        throw new TailwindError('ERR_RDMC_LOG_STATE', `Log ${logId} has been recovered already`);
      }
      const other = log.recovererRun === this.run ? log.recoverer : null;
      if (other !== null && other !== recoverer && !isGone(other)) {
        throw new TailwindError('ERR_RDMC_RECOVERY_RUNNING', `Member ${other} is recovering log ${logId}`);
      }
      const attempt = log.attempt + 1;
      return { ...log, state: 'recovering', recoverer, recovererRun: this.run, attempt };
    });
  }

  /** Ends an attempt. Has no effect if it is not the last one, or has finished. */
  giveUpRecovery(logId: bigint, from: number, attempt: number): Promise<LogRecord> {
    return this.#changeLog(logId, (log) => {
      const isTheirs = log.state === 'recovering' && log.recoverer === from && log.attempt === attempt;
      return isTheirs ? { ...log, recoverer: null } : log;
    });
  }

  /**
   * A second call with the same successors has no effect: the answer to the first one may have been lost.
   * @throws TailwindError ERR_RDMC_NOT_OWNER, ERR_RDMC_LOG_STATE
   */
  finishRecovery(
    logId: bigint,
    from: number,
    { attempt, successors }: { attempt: number; successors: readonly bigint[] },
  ): Promise<LogRecord> {
    return this.#changeLog(logId, (log) => {
      if (log.recoverer !== from || log.attempt !== attempt) {
        throw new TailwindError(
          'ERR_RDMC_NOT_OWNER',
          `Attempt ${attempt} of member ${from} must not finish the recovery of log ${logId}: only the last attempt may`,
        );
      }
      if (log.state === 'recovering') return { ...log, state: 'recovered', successors: [...successors] };
      if (log.state === 'recovered' && String(log.successors) === String(successors)) return log;
      throw new TailwindError('ERR_RDMC_LOG_STATE', `Log ${logId} is ${log.state}, with other successors`);
    });
  }

  /**
   * Declares a log dead. Its recovery will use exactly these segments; other acknowledged data is discarded.
   * @throws TailwindError ERR_RDMC_LOG_STATE: it was recovered
   */
  acceptLoss(logId: bigint, salvage: readonly SalvagedSegment[]): Promise<LogRecord> {
    return this.#changeLog(logId, (log) => {
      if (log.state === 'recovered') {
        throw new TailwindError('ERR_RDMC_LOG_STATE', `Log ${logId} has been recovered already`);
      }
      return { ...log, state: 'recovering', recoverer: null, recovererRun: null, salvage: [...salvage] };
    });
  }

  async #changeLog(logId: bigint, change: (log: LogRecord) => LogRecord): Promise<LogRecord> {
    const text = await this.#change(keyOf(logId), (before) => {
      if (before === undefined) throw unknown(logId);
      const log = decodeLogRecord(before);
      const changed = change(log);
      return changed === log ? before : encodeLogRecord(changed);
    });
    return decodeLogRecord(text);
  }

  async #change(key: string, change: (before: string | undefined) => string): Promise<string> {
    for (;;) {
      const before = await this.store.get(key);
      const value = change(before?.value);
      if (value === before?.value) return value;
      try {
        await this.store.put(key, value, before?.revision ?? 0);
        return value;
      } catch (error) {
        if (codeOf(error) !== 'ERR_RDMC_STATE_CONFLICT') throw error;
      }
    }
  }
}

/** @throws TailwindError ERR_RDMC_NOT_OWNER, ERR_RDMC_LOG_FENCED */
export function requireLive({ logId, owner, state }: LogRecord, from: number): void {
  if (owner !== from)
    throw new TailwindError('ERR_RDMC_NOT_OWNER', `Log ${logId} belongs to member ${owner}`);
  if (state === 'live') return;
  throw new TailwindError(
    'ERR_RDMC_LOG_FENCED',
    `Log ${logId} was declared dead: its primary must not write it any more, and must stop serving it`,
  );
}

function lastLogId(text = '0'): bigint {
  try {
    return readShape(u64, text);
  } catch (error) {
    throw damagedState('the number of the last log', error);
  }
}

function isBelow(before: Minimum, minimum: Minimum): boolean {
  if (before.segmentId !== minimum.segmentId) return before.segmentId < minimum.segmentId;
  return before.epoch < minimum.epoch;
}

function keyOf(logId: bigint): string {
  return `${LOG_PREFIX}${logId}`;
}

function unknown(logId: bigint): TailwindError {
  return new TailwindError('ERR_RDMC_LOG_UNKNOWN', `The coordinator does not know log ${logId}`);
}
