import type { DeviceRoute } from './cast-progress.js';
import type { CastProblem } from './cast-summary.js';

interface CastFacts {
  readonly castId: string;
  /** The sender: its own host name, and its address. */
  readonly from: string;
  /** Regular files and bytes of the cast, as announced; in 'complete' and 'failed' those that are stored. */
  readonly files: number;
  readonly bytes: number;
}

export interface CastBegan extends CastFacts {
  readonly type: 'began';
}

/** The first group is formed: the route of the bytes. Reported once for each cast. */
export interface CastRouted extends CastFacts, DeviceRoute {
  readonly type: 'route';
}

/** About five times a second. */
export interface CastReceiving extends CastFacts {
  readonly type: 'progress';
  readonly receivedBytes: number;
  readonly storedBytes: number;
}

/** Everything that was lacking is stored, except for `problems`. */
export interface CastComplete extends CastFacts {
  readonly type: 'complete';
  /** Regular files that were here already, and their bytes. */
  readonly unchangedFiles: number;
  readonly unchangedBytes: number;
  /** Entries that the sender does not have. */
  readonly removed: number;
  readonly directories: number;
  readonly links: number;
  readonly seconds: number;
  /** At most 500 are kept; `problemCount` counts all. */
  readonly problems: readonly CastProblem[];
  readonly problemCount: number;
}

/** The cast ended early. Complete files stay; incomplete ones are removed. */
export interface CastFailed extends CastFacts {
  readonly type: 'failed';
  readonly code: string;
  readonly message: string;
}

export type ReceiverEvent = CastBegan | CastRouted | CastReceiving | CastComplete | CastFailed;
