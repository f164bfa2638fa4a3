import type { UnsetAttributes } from './archive/unset-attributes.js';
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

/** A sender has announced its cast: where entries are compared, when all of them are. */
export interface CastBegan extends CastFacts {
  /** Distinguishes the events. */
  readonly type: 'began';
  /** Whether files are encrypted on their way. */
  readonly encrypted: boolean;
  /** Whether the sender only asks what a cast would change. */
  readonly dryRun?: boolean | undefined;
}

/** The first group is formed: the route of the bytes. Reported once for each cast. */
export interface CastRouted extends CastFacts, DeviceRoute {
  /** Distinguishes the events. */
  readonly type: 'route';
}

/** About five times a second. */
export interface CastReceiving extends CastFacts {
  /** Distinguishes the events. */
  readonly type: 'progress';
  /** Bytes of contents that have arrived in memory. */
  readonly receivedBytes: number;
  /** Bytes of contents that are written to files. */
  readonly storedBytes: number;
}

/** Everything that was lacking is stored, except for `problems`. */
export interface CastComplete extends CastFacts {
  /** Distinguishes the events. */
  readonly type: 'complete';
  /** Whether this was a dry run, which has not changed anything. */
  readonly dryRun?: boolean | undefined;
  /** Of the stored bytes, those that came from older files here. */
  readonly keptBytes: number;
  /** Bytes that an interrupted cast had left here, in complete files and in partial ones, and that were not received again. */
  readonly resumedBytes: number;
  /** Regular files that were here already. */
  readonly unchangedFiles: number;
  /** Sum of the sizes of the files that were here already. */
  readonly unchangedBytes: number;
  /** Entries that the sender does not have. */
  readonly removed: number;
  /** What this receiver has not set of the attributes of an archive cast; undefined where it has set everything. */
  readonly unset?: UnsetAttributes | undefined;
  /** Directories of the cast. */
  readonly directories: number;
  /** Symbolic and hard links of the cast. */
  readonly links: number;
  /** Time of the cast, seen from this receiver. */
  readonly seconds: number;
  /** At most 500 are kept; `problemCount` counts all. */
  readonly problems: readonly CastProblem[];
  /** All entries that are missing here, also those that `problems` does not list. */
  readonly problemCount: number;
}

/** The cast ended early. Complete files of existing directories stay; what else was received is kept for a later cast. */
export interface CastFailed extends CastFacts {
  /** Distinguishes the events. */
  readonly type: 'failed';
  /** Whether this was a dry run. */
  readonly dryRun?: boolean | undefined;
  /** A stable code. */
  readonly code: string;
  /** The reason, for people; it may change. */
  readonly message: string;
}

/** An event of `receiveFiles`; `type` distinguishes them. */
export type ReceiverEvent = CastBegan | CastRouted | CastReceiving | CastComplete | CastFailed;
