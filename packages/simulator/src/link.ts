import type { Flow } from './flow.js';

/** One direction of a cable or of a switch's uplink, and the flows that share it. */
export class Link {
  readonly flows: Flow[] = [];
  /** Bytes that have crossed it, of flows that have ended. */
  bytes = 0;
  /** Flows that have crossed it. */
  ended = 0;
  /** Of the search for connected flows: the number of the last search that reached it. */
  visit = 0;
  /** Of the filling: the capacity that is not assigned, the flows without a rate, and the place in the heap's order. */
  left = 0;
  open = 0;
  key = 0;
  /** Whether its flows changed since their rates were computed. */
  changed = false;

  constructor(
    readonly name: string,
    /** Bytes per microsecond. */
    readonly capacity: number,
  ) {}
}
