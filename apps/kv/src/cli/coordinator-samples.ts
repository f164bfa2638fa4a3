import type { CoordinatorEvents } from '../node/coordinator-process.js';
import type { MetricSample } from './serve-metrics.js';

/** What a coordinator has done since its start. */
interface CoordinatorStatistics {
  /** The term in which it leads; 0: it waits. */
  readonly term: number;
  readonly recoveries: number;
  readonly recoveryMs: number;
  readonly failures: number;
  readonly movedSlots: number;
  readonly failedMoves: number;
  readonly lostMembers: number;
}

/** What `kv coordinator --metrics` tells of the coordinator. */
export const COORDINATOR_SAMPLES: readonly MetricSample<CoordinatorStatistics>[] = [
  [
    'gauge',
    'rdmc_kv_coordinator_term',
    'The term in which this coordinator leads; 0: it waits for the lead.',
    (all) => all.term,
  ],
  [
    'observedCounter',
    'rdmc_kv_recoveries_total',
    'Logs of lost servers that were recovered.',
    (all) => all.recoveries,
  ],
  [
    'observedCounter',
    'rdmc_kv_recovery_seconds_total',
    'Time that these recoveries took, all together.',
    (all) => all.recoveryMs / 1000,
  ],
  [
    'observedCounter',
    'rdmc_kv_recovery_failures_total',
    'Attempts to recover a log, or to give out slots, that failed. They are repeated.',
    (all) => all.failures,
  ],
  [
    'observedCounter',
    'rdmc_kv_moved_slots_total',
    'Slots that were handed over between servers that run.',
    (all) => all.movedSlots,
  ],
  [
    'observedCounter',
    'rdmc_kv_failed_moves_total',
    'Attempts to hand slots over that failed.',
    (all) => all.failedMoves,
  ],
  [
    'observedCounter',
    'rdmc_kv_lost_members_total',
    'Members whose connection ended without their leave.',
    (all) => all.lostMembers,
  ],
];

/** Counts the events of a coordinator. */
export class CoordinatorCounters {
  readonly #counts = {
    term: 0,
    recoveries: 0,
    recoveryMs: 0,
    failures: 0,
    movedSlots: 0,
    failedMoves: 0,
    lostMembers: 0,
  };

  /** The same events, counted. */
  counting(events: CoordinatorEvents): CoordinatorEvents {
    const counts = this.#counts;
    return {
      ...events,
      leading: (term) => {
        counts.term = term;
        events.leading?.(term);
      },
      waiting: (event) => {
        counts.term = 0;
        events.waiting?.(event);
      },
      recovered: (event) => {
        counts.recoveries += 1;
        counts.recoveryMs += event.milliseconds;
        events.recovered?.(event);
      },
      failed: (event) => {
        counts.failures += 1;
        events.failed?.(event);
      },
      moved: (event) => {
        counts.movedSlots += event.slots;
        events.moved?.(event);
      },
      notMoved: (event) => {
        counts.failedMoves += 1;
        events.notMoved?.(event);
      },
      memberLost: (event) => {
        if (event.type === 'lost') counts.lostMembers += 1;
        events.memberLost?.(event);
      },
    };
  }

  statistics(): CoordinatorStatistics {
    return { ...this.#counts };
  }
}
