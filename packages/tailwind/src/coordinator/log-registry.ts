/**
 * The coordinator's records, in a store:
 *
 * ```
 * cluster     the UUID of the cluster
 * term        of the last run of a coordinator
 * last-log    the highest id of a log
 * log/<id>    the record of a log (log-record.ts), for ever
 * ```
 *
 * A record stays when its log has ended, in the state `recovered`. Others depend on it, and do not say when they do not any more:
 *
 * - A backup that returns with old files asks for the record, and frees the files at `recovered`. It keeps those of an unknown log,
 *   which may have another authority.
 * - A primary that was stopped meanwhile claims its log again. Where a backup does not have anything of the log, only the record
 *   refuses the claim.
 * - A recoverer repeats `finish-recovery` when the answer was lost. The same attempt with the same successors is accepted again.
 * - Records of the application count from `recovered` on, as the plans of takeovers of @rdmc/kv.
 *
 * A store does not remove keys, and a coordinator of the release before would call a removed log unknown. A shorter text of ended
 * records would save less than half, because that release needs most of the fields.
 *
 * A record has about 220 bytes, and 40 more for each segment where a loss was accepted; in a file it takes about 300. There is one for
 * each log that was ever created, so the number of starts of servers bounds them; a start of @rdmc/kv creates up to 20 while its
 * backups refuse it. 10 servers that start once a day leave 1.1 MB in a file each year. Every change writes the file as a whole: with
 * 10,000 records that took about 0.1 s, beside other work of the machine. Each member that comes or goes has all records read.
 */
import { randomUUID } from 'node:crypto';
import { SerialQueue } from '@rdmc/common';
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
import {
  abandoned,
  begunRecovery,
  declaredDead,
  finishedRecovery,
  givenUpRecovery,
  requireLive,
} from './log-rules.js';
import type { OwnerProcess } from './owner-process.js';
import type { StateStore } from './state-store.js';

const CLUSTER_KEY = 'cluster';
const LAST_LOG_KEY = 'last-log';
const TERM_KEY = 'term';
const LOG_PREFIX = 'log/';

/** The coordinator's rules over its state: reads, checks and writes every change, and repeats it after a conflict. */
export class LogRegistry {
  /** A recovery ends by the records of several logs: none of them changes its state between the look at it and the end. */
  readonly #states = new SerialQueue();

  /** @param term of the coordinator's run; 0: this is not a run of a coordinator */
  constructor(
    private readonly store: StateStore,
    readonly term = 0,
  ) {}

  /** Begins a run, with a term above those of all runs before. */
  static async begin(store: StateStore): Promise<LogRegistry> {
    const before = new LogRegistry(store);
    return new LogRegistry(store, Number(await before.#change(TERM_KEY, (term) => String(termOf(term) + 1))));
  }

  /** The term of the last run that began over this state. */
  async storedTerm(): Promise<number> {
    return termOf((await this.store.get(TERM_KEY))?.value);
  }

  /** The cluster's UUID; undefined if none was ever created. */
  async knownClusterId(): Promise<string | undefined> {
    return (await this.store.get(CLUSTER_KEY))?.value;
  }

  /** The cluster's UUID; created once. */
  async clusterId(): Promise<string> {
    return this.#change(CLUSTER_KEY, (before) => before ?? randomUUID());
  }

  /** Creates a log with an id that was never used. */
  async createLog({ member, incarnation }: OwnerProcess): Promise<LogRecord> {
    const logId = BigInt(await this.#change(LAST_LOG_KEY, (before) => String(lastLogId(before) + 1n)));
    const record: LogRecord = {
      logId,
      incarnation: Number(logId & 0xffff_ffffn),
      owner: member,
      ownerIncarnation: incarnation,
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
  abandonLog(logId: bigint, from: OwnerProcess): Promise<LogRecord> {
    return this.#states.run(() => this.#changeLog(logId, (log) => abandoned(log, from)));
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
  raiseMinimum(logId: bigint, from: OwnerProcess, minimum: Minimum): Promise<LogRecord> {
    return this.#changeLog(logId, (log) => {
      requireLive(log, from);
      return isBelow(log.minimum, minimum) ? { ...log, minimum } : log;
    });
  }

  /** Declares a log dead, irrevocably. */
  declareDead(logId: bigint): Promise<LogRecord> {
    return this.#states.run(() => this.#changeLog(logId, declaredDead));
  }

  /**
   * Declares a log dead and starts a new attempt to recover it, by `recoverer`.
   * @throws TailwindError ERR_RDMC_RECOVERY_RUNNING, ERR_RDMC_LOG_STATE
   */
  beginRecovery(logId: bigint, recoverer: number, isGone: (member: number) => boolean): Promise<LogRecord> {
    const begun = (log: LogRecord): LogRecord =>
      begunRecovery(log, { from: recoverer, run: this.#run }, isGone);
    return this.#states.run(() => this.#changeLog(logId, begun));
  }

  /** Ends an attempt. Has no effect if it is not the last one, or has finished. */
  giveUpRecovery(logId: bigint, from: number, attempt: number): Promise<LogRecord> {
    return this.#changeLog(logId, (log) => givenUpRecovery(log, { from, attempt }));
  }

  /**
   * A successor that was declared dead is refused: its own recovery does not know what this one gave it.
   * @throws TailwindError ERR_RDMC_NOT_OWNER, ERR_RDMC_LOG_STATE
   */
  finishRecovery(
    logId: bigint,
    from: number,
    { attempt, successors }: { attempt: number; successors: readonly bigint[] },
  ): Promise<LogRecord> {
    const finished = (log: LogRecord): LogRecord =>
      finishedRecovery(log, { from, attempt, run: this.#run }, successors);
    return this.#states.run(async () => {
      if ((await this.log(logId)).state === 'recovering') await this.#requireNoneDead(logId, successors);
      return this.#changeLog(logId, finished);
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

  async #requireNoneDead(logId: bigint, successors: readonly bigint[]): Promise<void> {
    for (const { logId: successor, state } of await this.logs()) {
      if (state === 'live' || !successors.includes(successor)) continue;
      throw new TailwindError(
        'ERR_RDMC_LOG_STATE',
        `The recovery of log ${logId} must not end: log ${successor}, which got entries of it, was declared dead`,
      );
    }
  }

  get #run(): string {
    return String(this.term);
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

function lastLogId(text = '0'): bigint {
  try {
    return readShape(u64, text);
  } catch (error) {
    throw damagedState('the number of the last log', error);
  }
}

function termOf(text = '0'): number {
  const term = Number(text);
  if (Number.isSafeInteger(term) && term >= 0) return term;
  throw damagedState('the term of the coordinator', new Error(`'${text}' is not a number of runs`));
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
