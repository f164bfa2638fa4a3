import { readShape } from '@rdmc/common/shapes';
import type { Mesh } from '@rdmc/mesh';
import type { CoordinatorChannel, LogRecord } from '@rdmc/tailwind/coordinator';
import { ABSENCE_CHECK_MAX_MS, ABSENCE_CHECK_MS, EVIDENCE_MS } from '../limits.js';
import { reachAnswer, type ServerProcess, Topic } from './messages.js';
import { isReached } from './witness.js';

/** Whether a server that is here is connected with the process; undefined: it did not answer, or too late. */
export type Testimony = boolean | undefined;

/**
 * Whether a process has ended, as far as the members can know. The coordinator alone cannot tell an ended process from its own
 * absence. So at least one server must be here, and every server that is here must answer that it is not connected with it.
 */
export function isGone(isReachedHere: boolean, testimonies: readonly Testimony[]): boolean {
  return !isReachedHere && testimonies.length > 0 && testimonies.every((isReached) => isReached === false);
}

/**
 * Whether more servers are missed than reached. The coordinator's part of the network is then more likely cut off than theirs, and
 * nothing is taken over. A takeover would not be certain in any case: either fewer than r + 1 servers are left, which is too few for
 * it, or more than r are missed, which is more than a log with r backups is certain to survive.
 */
export function isMinority(reached: number, missed: number): boolean {
  return reached < missed;
}

export interface AbsencesOptions {
  readonly mesh: Pick<Mesh, 'id' | 'incarnation' | 'peers'>;
  readonly orders: Pick<CoordinatorChannel, 'request'>;
  /** How long recoveries wait for servers that others reach. */
  readonly returnMs: number;
  readonly ended: AbortSignal;
  /** Called when it is time to look again. */
  readonly onCheck: () => void;
  /** Milliseconds; default: of `performance`. */
  readonly clock?: () => number;
}

/** What is known of the logs whose servers are not registered. */
export interface Absence {
  /** They were declared dead, or nobody reaches their servers. */
  readonly dead: ReadonlySet<string>;
  /** A server with slots may be back at once: recoveries wait, so that it gets its share of them. */
  readonly isExpected: boolean;
  /** Servers that are not reached, and that do not count as lost, because they are more than those that are reached. */
  readonly missed: readonly number[];
}

/**
 * Servers that have a log and are not registered. The coordinator may have been the one that was away, stopped or cut off: it asks
 * the servers that are here, and only a server that none of them reaches is lost.
 *
 * No time from before a pause of this process counts: waits are counted in checks, however late each comes, and an answer that took
 * long is asked for again.
 */
export class Absences {
  /** How long each log's server has been waited for. */
  readonly #waitedMs = new Map<string, number>();
  #intervalMs = ABSENCE_CHECK_MS;
  #timer: NodeJS.Timeout | undefined;

  constructor(private readonly options: AbsencesOptions) {}

  /** Servers came or went: the next checks follow soon. */
  stir(): void {
    this.#intervalMs = ABSENCE_CHECK_MS;
    this.close();
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /**
   * @param having the logs that have slots
   * @param living the servers that are here, by log
   */
  async of(
    logs: readonly LogRecord[],
    having: ReadonlySet<string>,
    living: ReadonlyMap<string, number>,
  ): Promise<Absence> {
    const absent = logs.filter(({ logId, state }) => state === 'live' && !living.has(String(logId)));
    const unreached = await this.#unreached(absent, [...living.values()]);
    const missed = [...new Set(unreached.map(({ owner }) => owner))];
    const known = new Set([...absent.map(({ owner }) => owner), ...living.values()]);
    const isCutOff = isMinority(known.size - missed.length, missed.length);
    const dead = logs.filter((log) => log.state !== 'live' || (!isCutOff && unreached.includes(log)));
    const left = absent.filter((log) => !dead.includes(log)).map(({ logId }) => String(logId));
    this.#wait(left, living.size > 0);
    const isExpected = left.some((logId) => having.has(logId) && !this.#isOverdue(logId));
    return {
      dead: new Set(dead.map(({ logId }) => String(logId))),
      isExpected,
      missed: isCutOff ? missed : [],
    };
  }

  /** Logs whose servers nobody reaches. */
  async #unreached(absent: readonly LogRecord[], members: readonly number[]): Promise<LogRecord[]> {
    const { mesh } = this.options;
    if (absent.length === 0 || members.length === 0) return [];
    const processes = absent.map(({ owner: member, ownerIncarnation: incarnation }) => ({
      member,
      incarnation,
    }));
    const asked = await Promise.all(members.map((member) => this.#ask(member, processes)));
    // A server that was lost meanwhile is not a witness any more.
    const answers = asked.filter((_, index) => mesh.peers.get(members[index]!)?.state === 'connected');
    return absent.filter((_, index) => {
      const testimonies = answers.map((answer) => answer?.[index]);
      return isGone(isReached(mesh, processes[index]!), testimonies);
    });
  }

  #wait(logIds: readonly string[], isAsked: boolean): void {
    for (const logId of this.#waitedMs.keys()) if (!logIds.includes(logId)) this.#waitedMs.delete(logId);
    for (const logId of logIds) this.#waitedMs.set(logId, this.#waitedMs.get(logId) ?? 0);
    if (logIds.length > 0 && isAsked) this.#schedule();
  }

  #isOverdue(logId: string): boolean {
    return this.#waitedMs.get(logId)! >= this.options.returnMs;
  }

  /** Undefined: no answer that counts. */
  async #ask(member: number, processes: readonly ServerProcess[]): Promise<readonly boolean[] | undefined> {
    const { orders, ended, clock = () => performance.now() } = this.options;
    const askedAt = clock();
    try {
      const answer = await orders.request(member, Topic.REACH, { processes }, { signal: ended });
      const { reached } = readShape(reachAnswer, answer);
      return clock() - askedAt < EVIDENCE_MS ? reached : undefined;
    } catch (error) {
      if (ended.aborted) throw error;
      return undefined;
    }
  }

  #schedule(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      for (const [logId, waited] of this.#waitedMs) this.#waitedMs.set(logId, waited + this.#intervalMs);
      this.#intervalMs = Math.min(2 * this.#intervalMs, ABSENCE_CHECK_MAX_MS);
      this.options.onCheck();
    }, this.#intervalMs).unref();
  }
}
