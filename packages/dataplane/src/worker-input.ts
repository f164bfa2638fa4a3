import type { DeviceChoice, OpenDeviceOptions } from '@rdmc/verbs';

/** What the application's thread hands the worker at its start. */
export interface WorkerInput {
  readonly control: SharedArrayBuffer;
  readonly commandRing: SharedArrayBuffer;
  readonly eventRing: SharedArrayBuffer;
  /** Wakes the worker; it watches this one. */
  readonly workerEventFd: number;
  /** Wakes the application. */
  readonly applicationEventFd: number;
  readonly device: OpenDeviceOptions;
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
