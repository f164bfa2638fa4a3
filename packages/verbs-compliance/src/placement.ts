import { inProcess, inThisThread, inWorker, type Link } from './link.js';

/** Where the second peer runs; the first one runs in the test's own thread. */
export type PlacementName = 'thread' | 'worker' | 'process';

/** Features of a placement. */
export interface PlacementAbilities {
  /** The second peer has a thread of its own, which can be kept busy. */
  readonly secondThread: boolean;
  /** Both peers share a process. */
  readonly sharedProcess: boolean;
  /** The second peer has a process of its own, which can be stopped and killed. */
  readonly secondProcess: boolean;
}
export type AbilityName = keyof PlacementAbilities;

export interface Placement {
  readonly title: string;
  readonly abilities: PlacementAbilities;
  readonly start: () => Promise<Link>;
}

export const PLACEMENTS: Readonly<Record<PlacementName, Placement>> = {
  thread: {
    title: 'two devices in one thread',
    abilities: { secondThread: false, sharedProcess: true, secondProcess: false },
    start: inThisThread,
  },
  worker: {
    title: 'two threads',
    abilities: { secondThread: true, sharedProcess: true, secondProcess: false },
    start: inWorker,
  },
  process: {
    title: 'two processes',
    abilities: { secondThread: true, sharedProcess: false, secondProcess: true },
    start: inProcess,
  },
};
