export type CastPhase = 'preparing' | 'connecting' | 'sending' | 'finishing' | 'done';

export type ReceiverState = 'connecting' | 'ready' | 'receiving' | 'storing' | 'complete' | 'failed';

/** Why a receiver failed. `code` is a `CastErrorCode`, or that of a layer below. */
export interface CastFailure {
  readonly code: string;
  readonly message: string;
}

/** A receiver as it was when the snapshot was taken. Bytes are those of files' contents, holes left out. */
export interface ReceiverProgress {
  /** `host:port` as it was asked for. */
  readonly name: string;
  /** The machine's own host name, once known. */
  readonly hostName?: string | undefined;
  readonly state: ReceiverState;
  readonly receivedBytes: number;
  readonly storedBytes: number;
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
  readonly algorithm: string;
  readonly messageBytes: number;
  readonly blockBytes: number;
  /** Address and port at which receivers reach this machine. */
  readonly address: string;
}

/** A snapshot of a cast. */
export interface CastProgress {
  readonly phase: CastPhase;
  /** 1 for the first cast, 2 for the first retry. */
  readonly attempt: number;
  /** Bytes of contents to send, holes left out; known from phase 'connecting' on. */
  readonly totalBytes: number;
  readonly totalFiles: number;
  readonly sentBytes: number;
  readonly receivers: readonly ReceiverProgress[];
  readonly route?: CastRoute | undefined;
}
