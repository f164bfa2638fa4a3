/** An entry that did not arrive, and why. */
export interface CastProblem {
  /** The entry's name in the cast; bytes that are not UTF-8 are replaced. */
  readonly path: string;
  readonly code: string;
  readonly message: string;
  /** The receiver that lacks it; undefined where the sender could not send it, so that all lack it. */
  readonly receiver?: string | undefined;
}

export interface ReceiverSummary {
  readonly host: string;
  readonly port: number;
  /** 'complete': everything that was sent is stored there under its name. */
  readonly state: 'complete' | 'failed';
  /** How often it was cast to. */
  readonly attempts: number;
  /** Regular files and bytes stored there in the last attempt. */
  readonly files: number;
  readonly bytes: number;
  readonly code?: string | undefined;
  readonly message?: string | undefined;
}

/** The outcome of a cast. */
export interface CastSummary {
  /** Regular files sent, without hard links. */
  readonly files: number;
  readonly directories: number;
  /** Symbolic and hard links. */
  readonly links: number;
  /** Sum of the sizes of the files. */
  readonly bytes: number;
  readonly seconds: number;
  readonly receivers: readonly ReceiverSummary[];
  /** At most 500 are kept; `problemCount` counts all. */
  readonly problems: readonly CastProblem[];
  readonly problemCount: number;
}
