/** The stage of a cast: the survey of the files, connecting, sending, waiting for the last writes, the end. */
export type CastPhase = 'preparing' | 'connecting' | 'sending' | 'finishing' | 'done';

/** The stage of one receiver; 'storing': it has everything and writes it to disk. */
export type ReceiverState = 'connecting' | 'ready' | 'receiving' | 'storing' | 'complete' | 'failed';

/** Why a receiver failed. `code` is a `CastErrorCode`, or that of a layer below. */
export interface CastFailure {
  /** A stable code. */
  readonly code: string;
  /** The reason, for people; it may change. */
  readonly message: string;
}

/** A receiver as it was when the snapshot was taken. Bytes are those of files' contents, holes left out. */
export interface ReceiverProgress {
  /** `host:port` as it was asked for. */
  readonly name: string;
  /** The machine's own host name, once known. */
  readonly hostName?: string | undefined;
  /** The stage that this receiver has reached. */
  readonly state: ReceiverState;
  /** Bytes that have arrived in its memory. */
  readonly receivedBytes: number;
  /** Bytes that it has written to its files. */
  readonly storedBytes: number;
  /** Bytes that an interrupted cast had left there, and that are not sent again. */
  readonly resumedBytes: number;
  /** Why it failed; only in state 'failed'. */
  readonly error?: CastFailure | undefined;
}

/** The device and transports that carry the bytes, once the group is formed, and why. */
export interface DeviceRoute {
  /** This machine's device: its kind, and its name where the two differ. */
  readonly device: string;
  /** Why that device. */
  readonly reason: string;
  /** The GID of the device's port that peers address; null for a device without GIDs, as the soft device. */
  readonly gid: string | null;
  /** The transports in use between members: 'shm' (processes of one host), 'tcp', or both; 'roce', 'infiniband'. */
  readonly transports: readonly string[];
  /** Why these transports. */
  readonly transportReason: string;
}

/** The route of the bytes, seen from the sender. */
export interface CastRoute extends DeviceRoute {
  /** The schedule in use: an algorithm of `@rdmc/schedule`. */
  readonly algorithm: string;
  /** Why that algorithm, for people. */
  readonly algorithmReason: string;
  /** The largest message, in bytes. */
  readonly messageBytes: number;
  /** The size of a block, in bytes. */
  readonly blockBytes: number;
  /** Why blocks of that size, for people. */
  readonly blockReason: string;
  /** Address and port at which receivers reach this machine. */
  readonly address: string;
  /** Whether files are encrypted from the sender to each receiver. */
  readonly encrypted: boolean;
  /** How contents are compressed: 'zstd' or 'deflate'; null: not. */
  readonly compression: 'zstd' | 'deflate' | null;
}

/** A snapshot of a cast. */
export interface CastProgress {
  /** The stage of the cast. */
  readonly phase: CastPhase;
  /** 1 for the first cast, 2 for the first retry. */
  readonly attempt: number;
  /** Bytes of contents to send, without holes and without blocks that receivers have; 0 until entries are listed. */
  readonly totalBytes: number;
  /** Regular files of the cast; 0 until they are listed, which may be while receivers compare. */
  readonly totalFiles: number;
  /** Bytes of contents that the sender has handed to the group. */
  readonly sentBytes: number;
  /** Bytes of files that were not sent, because receivers take them from their older files. */
  readonly keptBytes: number;
  /** One for each target, in the order of the option `to`. */
  readonly receivers: readonly ReceiverProgress[];
  /** How the bytes travel; undefined until the group is formed. */
  readonly route?: CastRoute | undefined;
}
