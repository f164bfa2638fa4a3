interface FetchFacts {
  /** Distinguishes the fetches. */
  readonly fetchId: string;
  /** The fetcher: its own host name, and its address. */
  readonly from: string;
  /** The name that it asked for; empty for everything. */
  readonly name: string;
  /** Regular files below that name. */
  readonly files: number;
  /** Sum of their sizes. */
  readonly bytes: number;
}

/** A fetcher has told what it has. */
export interface FetchBegan extends FetchFacts {
  /** Distinguishes the events. */
  readonly type: 'began';
  /** Pieces of at most 1 MiB below the name. */
  readonly pieces: number;
  /** Pieces that the fetcher lacks. */
  readonly lacking: number;
  /** Fetchers of the same name at this moment, this one included. */
  readonly fetchers: number;
  /** Whether files are encrypted on their way. */
  readonly encrypted: boolean;
}

/** About once a second for each fetch. */
export interface FetchServing extends FetchFacts {
  /** Distinguishes the events. */
  readonly type: 'progress';
  /** Bytes of pieces that the fetcher has stored, beside those that it had. */
  readonly storedBytes: number;
}

/** A run has ended: what the server, or a fetcher that serves on, sent to one group. */
export interface RunSent {
  /** Distinguishes the events. */
  readonly type: 'sent';
  /** The name that the fetchers asked for; empty for everything. */
  readonly name: string;
  /** Fetchers in the group. */
  readonly fetchers: number;
  /** Pieces that the server sent once, to all of them. */
  readonly pieces: number;
  /** Bytes of these pieces, with what numbers and encryption add. */
  readonly bytes: number;
  /**
   * The fetcher that sent them in the place of the server: its own host name, and its address. `pieces` and `bytes` are then what
   * at least one fetcher got.
   */
  readonly leader?: string | undefined;
}

/** A fetcher has stored everything, except what it reports as problems. */
export interface FetchServed extends FetchFacts {
  /** Distinguishes the events. */
  readonly type: 'complete';
  /** Files that the fetcher stored, without those that it had. */
  readonly storedFiles: number;
  /** Sum of the sizes of these files. */
  readonly storedBytes: number;
  /** Entries that it lacks. */
  readonly problemCount: number;
  /** From the moment at which it asked. */
  readonly seconds: number;
}

/** A fetch ended early. The others continue. */
export interface FetchDropped extends FetchFacts {
  /** Distinguishes the events. */
  readonly type: 'failed';
  /** A stable code. */
  readonly code: string;
  /** The reason, for people; it may change. */
  readonly message: string;
}

/** An event of `serveFiles`; `type` distinguishes them. */
export type ServeEvent = FetchBegan | FetchServing | RunSent | FetchServed | FetchDropped;
