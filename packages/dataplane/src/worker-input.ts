import type { DeviceChoice } from '@rdmc/verbs';

/** The worker's input at its start. The options of the device follow in a separate message. */
export interface WorkerInput {
  readonly control: SharedArrayBuffer;
  readonly commandRing: SharedArrayBuffer;
  readonly eventRing: SharedArrayBuffer;
  /** Wakes the worker, which watches it. */
  readonly workerEventFd: number;
  /** Wakes the application. */
  readonly applicationEventFd: number;
  readonly windowMs: number;
  readonly completionQueueDepth: number | undefined;
  readonly protocols: readonly { readonly name: string; readonly module: string; readonly data: unknown }[];
  /** The ring of this thread's trace. */
  readonly trace: { readonly memory: SharedArrayBuffer; readonly member: number } | undefined;
}

/** The only message of the worker: all protocols have started. */
export interface ReadyMessage {
  readonly device: number;
  readonly protectionDomain: number;
  readonly choice: DeviceChoice;
}
