/** A cast of which everything is stored, for `afterCast`. */
export interface ArrivedCast {
  /** Identifies the cast. */
  readonly castId: string;
  /** The sender: its own host name, and its address. */
  readonly from: string;
  /** Names of the paths that were cast, as they are in the directory: bytes, because names need not be text. */
  readonly names: readonly Uint8Array[];
  /** Regular files that were stored; those that were here already are not counted. */
  readonly files: number;
  /** Sum of the sizes of the files that were stored. */
  readonly bytes: number;
  /** Regular files that were here already. */
  readonly unchangedFiles: number;
  /** Entries that were removed, because the sender does not have them. */
  readonly removed: number;
}

/**
 * Runs once for each cast of which nothing is missing, when everything is on disk and before the sender is told. The sender
 * waits for it: it must have a time limit of its own. Where it rejects, the cast fails at this receiver with the code and
 * the message of the error, and the files stay.
 * @param signal aborted when the receiver is closed, or the sender is lost
 */
export type AfterCast = (cast: ArrivedCast, signal: AbortSignal) => Promise<void>;
