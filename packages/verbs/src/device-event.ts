/** Asynchronous events of a device, which no completion queue reports (IBA 11.6.3). */
export interface DeviceEvent {
  /**
   * - `portActive`, `portDown`, `addressChange`: the state or the addresses of `port` changed.
   * - `queuePairFatal`: `queuePair` is in the error state; its requests are flushed. On the soft device: a
   *   stopped peer may still write to its memory, and its receives ended with FATAL.
   * - `completionQueueError`: a completion queue and everything that uses it is lost.
   * - `deviceRemoved`: the device was removed. Outstanding requests have completed: the oldest of each queue
   *   pair with FATAL, the rest with WORK_REQUEST_FLUSHED. Everything but closing fails with
   *   ERR_RDMC_DEVICE_REMOVED.
   */
  readonly type:
    | 'portActive'
    | 'portDown'
    | 'addressChange'
    | 'queuePairFatal'
    | 'completionQueueError'
    | 'deviceRemoved';
  /** The event as text. */
  readonly message: string;
  /** The port that the event is about, from 1. */
  readonly port?: number;
  /** `QueuePair.number`. */
  readonly queuePair?: number;
}
