import type { DeviceChoice } from '@rdmc/verbs';

/** What the application's thread hands the worker at its start; the options of the device follow as a message of their own. */
export interface WorkerInput {
  readonly control: SharedArrayBuffer;
  readonly commandRing: SharedArrayBuffer;
  readonly eventRing: SharedArrayBuffer;
  /** Wakes the worker; it watches this one. */
  readonly workerEventFd: number;
  /** Wakes the application. */
  readonly applicationEventFd: number;
  readonly windowMs: number;
  readonly completionQueueDepth: number | undefined;
  readonly protocols: readonly { readonly name: string; readonly module: string; readonly data: unknown }[];
}

/** The worker's one message: all protocols have started. */
export interface ReadyMessage {
  readonly device: number;
  readonly protectionDomain: number;
  readonly choice: DeviceChoice;
}
