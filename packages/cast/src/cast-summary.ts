/** An entry that did not arrive, and why. */
export interface CastProblem {
  /** The entry's name in the cast; bytes that are not UTF-8 are replaced. */
  readonly path: string;
  /** A stable code. */
  readonly code: string;
  /** The reason, for people; it may change. */
  readonly message: string;
  /** The receiver that lacks it; undefined where the sender could not send it, so that all lack it. */
  readonly receiver?: string | undefined;
}

/** The outcome of one receiver. */
export interface ReceiverSummary {
  /** The host as it was given. */
  readonly host: string;
  /** The control port as it was given, or its default. */
  readonly port: number;
  /** 'complete': everything that was sent is stored there under its name. */
  readonly state: 'complete' | 'failed';
  /** How often it was cast to. */
  readonly attempts: number;
  /** Regular files and bytes stored there in the last attempt. */
  readonly files: number;
  /** Bytes stored there in the last attempt. */
  readonly bytes: number;
  /** Why it failed: a stable code; undefined when it is complete. */
  readonly code?: string | undefined;
  /** Why it failed, for people; undefined when it is complete. */
  readonly message?: string | undefined;
}

/** The outcome of a cast. */
export interface CastSummary {
  /** Regular files sent, without hard links. */
  readonly files: number;
  /** Directories sent. */
  readonly directories: number;
  /** Symbolic and hard links. */
  readonly links: number;
  /** Sum of the sizes of the files. */
  readonly bytes: number;
  /** Time of the whole cast, retries included. */
  readonly seconds: number;
  /** The outcome of each receiver, in the order of the option `to`. */
  readonly receivers: readonly ReceiverSummary[];
  /** At most 500 are kept; `problemCount` counts all. */
  readonly problems: readonly CastProblem[];
  /** All entries that did not arrive somewhere, also those that `problems` does not list. */
  readonly problemCount: number;
}
