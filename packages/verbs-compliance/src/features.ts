/**
 * Optional features of devices. A test that needs a feature that the device lacks is skipped
 * with a title that says so.
 */
export interface DeviceFeatures {
  /** Memory given to `register` can be the target of peers. */
  readonly remoteRegisteredMemory: boolean;
  /** Large WRITEs are placed in increasing address order, in aligned units of `writeOrderUnitBytes`. */
  readonly writeOrder: boolean;
  /** Compare-and-swap and fetch-and-add. */
  readonly atomics: boolean;
  /** Unknown keys, bounds and misuse are refused when posted, not by a failed completion. */
  readonly checksAtPosting: boolean;
  /** Receives posted on a queue pair are flushed when its peer's process dies, without a send. */
  readonly flushOnPeerDeath: boolean;
  /** A request outstanding when the peer's process dies ends with RETRY_EXCEEDED within `peerDeathLimitMs`. */
  readonly retryExceededOnPeerDeath: boolean;
  /** Revoking and the error state are barriers even against a peer whose process is stopped. */
  readonly barrierAgainstStoppedPeer: boolean;
  /** A queue pair can be connected to one of its own device. */
  readonly connectToSelf: boolean;
  /** Connecting to a missing device fails with ERR_RDMC_CONNECT_FAILED; without this feature, the first request fails. */
  readonly connectFindsPeer: boolean;
  /** Two queue pairs with much to send advance together. */
  readonly fairQueuePairs: boolean;
  /** A queue pair connected with a `weight` has that many turns for each turn of another. */
  readonly weights: boolean;
  /**
   * A message longer than the receive posted for it fails with REMOTE_INVALID_REQUEST at its sender and
   * LOCAL_LENGTH_ERROR at its receiver. Without this feature: with those or their QP_OPERATION errors.
   */
  readonly namesShortReceives: boolean;
  /** Devices opened with different keys do not connect: ERR_RDMC_WRONG_KEY. */
  readonly admissionKey: boolean;
  /** A completion queue armed for solicited completions is silent about others; without this feature, every completion may wake. */
  readonly silentUnlessSolicited: boolean;
  /** `attachDevice` opens a device in another thread of its process. */
  readonly attachFromOtherThread: boolean;
  /** Requests with `waitFor` are executed by the device when receives of other queue pairs have succeeded. */
  readonly waitFor: boolean;
}
/** Name of a feature that a device may lack. */
export type FeatureName = keyof DeviceFeatures;

/** The soft device between processes of one host. */
export const SOFT_SHM: DeviceFeatures = {
  remoteRegisteredMemory: false,
  writeOrder: true,
  atomics: true,
  checksAtPosting: true,
  flushOnPeerDeath: true,
  retryExceededOnPeerDeath: true,
  barrierAgainstStoppedPeer: true,
  connectToSelf: true,
  connectFindsPeer: true,
  fairQueuePairs: true,
  weights: true,
  namesShortReceives: true,
  admissionKey: true,
  silentUnlessSolicited: true,
  attachFromOtherThread: true,
  waitFor: true,
};

/** The soft device over TCP. */
export const SOFT_TCP: DeviceFeatures = {
  ...SOFT_SHM,
  remoteRegisteredMemory: true,
  writeOrder: false,
  // Only over a link with `linkRate`: without one, the system's sockets share the way out.
  weights: false,
};

/**
 * An RDMA device through @rdmc/verbs: the guarantees of the InfiniBand specification, and those that the package
 * adds for all of them. Add the guarantees of a device's manual.
 */
export const RDMA_DEVICE: DeviceFeatures = {
  remoteRegisteredMemory: true,
  writeOrder: false,
  atomics: true,
  checksAtPosting: true,
  flushOnPeerDeath: false,
  retryExceededOnPeerDeath: true,
  barrierAgainstStoppedPeer: true,
  connectToSelf: true,
  connectFindsPeer: false,
  fairQueuePairs: false,
  weights: false,
  namesShortReceives: true,
  admissionKey: false,
  silentUnlessSolicited: true,
  attachFromOtherThread: true,
  waitFor: false,
};

/** Linux's soft-RoCE (rdma_rxe), as of Linux 6.1. */
export const SOFT_ROCE: DeviceFeatures = {
  ...RDMA_DEVICE,
  namesShortReceives: false,
  silentUnlessSolicited: false,
};
