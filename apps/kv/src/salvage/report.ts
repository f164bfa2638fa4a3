/** The result of `kv salvage`. Numbers of logs and segments are text: they have 64 bits. */
export interface SalvageReport {
  readonly clusterId: string;
  /** Where the coordinator's state is. */
  readonly state: string;
  /**
   * complete: nothing is missing. incomplete: nothing was changed. accepted: the next start serves what is listed, and
   * what is missing was given up. accepted-before: an earlier run did that, of all logs that are incomplete; the next
   * start serves what that one listed, and nothing was changed.
   */
  readonly outcome: 'complete' | 'incomplete' | 'accepted' | 'accepted-before';
  readonly directories: readonly SalvageDirectory[];
  /** Servers of which no directory was found. */
  readonly absent: readonly number[];
  /** Of each log that has slots. */
  readonly logs: readonly SalvageLog[];
}

export interface SalvageDirectory {
  readonly server: number;
  readonly directory: string;
  readonly files: number;
  readonly damaged: readonly { readonly path: string; readonly code: string; readonly message: string }[];
}

export interface SalvageLog {
  readonly log: string;
  /** The server whose log it is. */
  readonly server: number;
  readonly slots: readonly (readonly [from: number, to: number])[];
  readonly isComplete: boolean;
  /** Keys that hold a value, by what was found; expired ones included. */
  readonly keys: number;
  readonly entries: number;
  readonly bytes: number;
  readonly segments: readonly { readonly segment: string; readonly file: string; readonly bytes: number }[];
  /** Segments that the log is known to have had, and of which nothing was found. */
  readonly missing: readonly string[];
  /** Of the segments, those that may be left over from an earlier cleaning: keys that were removed long ago may be back. */
  readonly doubtful: readonly string[];
  /** What was written last was not found. */
  readonly isEndMissing: boolean;
  /** An earlier run gave up what was missing then. */
  readonly isLossAccepted: boolean;
}
