/**
 * What may become of a log's record, as functions without a store: the registry stores their results, and a model checks
 * them in every order of the requests. A result that is the same object means that nothing changes.
 */
import { TailwindError } from '../errors.js';
import type { LogRecord } from './log-record.js';
import type { OwnerProcess } from './owner-process.js';

/** An attempt to recover a log, with the name of the coordinator's run. */
export interface Attempt {
  readonly from: number;
  readonly attempt: number;
  readonly run: string;
}

/** @throws TailwindError ERR_RDMC_NOT_OWNER, ERR_RDMC_LOG_FENCED */
export function requireLive(log: LogRecord, from: OwnerProcess): void {
  requireOwner(log, from);
  if (log.state === 'live') return;
  throw new TailwindError(
    'ERR_RDMC_LOG_FENCED',
    `Log ${log.logId} was declared dead: its primary must not write it any more, and must stop serving it`,
  );
}

/** An earlier process of the owner's id does not have rights; a later one has other logs. */
function requireOwner({ logId, owner, ownerIncarnation }: LogRecord, from: OwnerProcess): void {
  if (owner === from.member && ownerIncarnation === from.incarnation) return;
  const which =
    owner === from.member ? `incarnation ${ownerIncarnation} of member ${owner}` : `member ${owner}`;
  throw new TailwindError('ERR_RDMC_NOT_OWNER', `Log ${logId} belongs to ${which}`);
}

/** Irrevocable. */
export function declaredDead(log: LogRecord): LogRecord {
  return log.state === 'live' ? { ...log, state: 'recovering' } : log;
}

/** The log is empty and will not be written, so it counts as recovered. */
export function abandoned(log: LogRecord, from: OwnerProcess): LogRecord {
  requireOwner(log, from);
  if (log.state === 'recovered' && log.attempt === 0) return log;
  requireLive(log, from);
  return { ...log, state: 'recovered' };
}

/**
 * A new attempt to recover the log. Earlier attempts, also of the same member, cannot finish any more.
 * @param isGone whether the former recoverer has left or failed; one of another run counts as gone
 * @throws TailwindError ERR_RDMC_RECOVERY_RUNNING, ERR_RDMC_LOG_STATE
 */
export function begunRecovery(
  log: LogRecord,
  { from, run }: Omit<Attempt, 'attempt'>,
  isGone: (member: number) => boolean,
): LogRecord {
  if (log.state === 'recovered') {
    throw new TailwindError('ERR_RDMC_LOG_STATE', `Log ${log.logId} has been recovered already`);
  }
  const other = log.recovererRun === run ? log.recoverer : null;
  if (other !== null && other !== from && !isGone(other)) {
    throw new TailwindError('ERR_RDMC_RECOVERY_RUNNING', `Member ${other} is recovering log ${log.logId}`);
  }
  return { ...log, state: 'recovering', recoverer: from, recovererRun: run, attempt: log.attempt + 1 };
}

/** Has no effect if the attempt is not the last one, or has finished. */
export function givenUpRecovery(log: LogRecord, { from, attempt }: Omit<Attempt, 'run'>): LogRecord {
  const isTheirs = log.state === 'recovering' && log.recoverer === from && log.attempt === attempt;
  return isTheirs ? { ...log, recoverer: null } : log;
}

/**
 * An attempt of an earlier run of the coordinator cannot finish: this run may have had its traces removed. A second call
 * with the same successors changes nothing, because the answer to the first one may have been lost.
 * @throws TailwindError ERR_RDMC_NOT_OWNER, ERR_RDMC_LOG_STATE
 */
export function finishedRecovery(
  log: LogRecord,
  { from, attempt, run }: Attempt,
  successors: readonly bigint[],
): LogRecord {
  const isLast = log.recoverer === from && log.attempt === attempt;
  if (isLast && log.state === 'recovered' && String(log.successors) === String(successors)) return log;
  if (!isLast || (log.state === 'recovering' && log.recovererRun !== run)) {
    throw new TailwindError(
      'ERR_RDMC_NOT_OWNER',
      `Attempt ${attempt} of member ${from} must not finish the recovery of log ${log.logId}: only the last attempt of ` +
        "this coordinator's run may",
    );
  }
  if (log.state === 'recovering') return { ...log, state: 'recovered', successors: [...successors] };
  throw new TailwindError('ERR_RDMC_LOG_STATE', `Log ${log.logId} is ${log.state}, with other successors`);
}
