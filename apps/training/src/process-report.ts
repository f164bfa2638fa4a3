import { readdirSync, readFileSync } from 'node:fs';
import type { Counters } from '@rdmc/dataplane';

/** The kernel's name of the worker thread of a data plane; it keeps 15 characters of a name. */
const DATA_PLANE_THREAD = 'rdmc-dataplane'.slice(0, 15);

/** The report of one process. */
export interface ProcessReport {
  /** Id of the member in that process. */
  readonly member: number;
  /** Number of the process. */
  readonly pid: number;
  /** Worker threads of data planes in this process. */
  readonly dataPlaneThreads: number;
  /** Counters of the node's worker. */
  readonly counters: Pick<Counters, 'completions' | 'unclaimedCompletions' | 'polls' | 'sleeps' | 'turns'>;
}

export function processReport(member: number, counters: Counters): ProcessReport {
  const { completions, unclaimedCompletions, polls, sleeps, turns } = counters;
  return {
    member,
    pid: process.pid,
    dataPlaneThreads: dataPlaneThreads(),
    counters: { completions, unclaimedCompletions, polls, sleeps, turns },
  };
}

function dataPlaneThreads(): number {
  return readdirSync('/proc/self/task').filter((task) => nameOf(task) === DATA_PLANE_THREAD).length;
}

/** Empty if the thread has ended meanwhile. */
function nameOf(task: string): string {
  try {
    return readFileSync(`/proc/self/task/${task}/comm`, 'utf8').trim();
  } catch {
    return '';
  }
}
