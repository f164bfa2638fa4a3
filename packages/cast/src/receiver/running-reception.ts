import type { SenderFrame } from '../control/frames.js';
import type { ReceiverEvent } from '../receiver-events.js';

/** One cast at a receiver. */
export interface RunningReception {
  /** Whether `once` counts it. */
  readonly isCounted: boolean;
  /** Whether it still takes files. */
  readonly isActive: boolean;
  /** Whether it has failed; it may still put files away. */
  readonly isEnding: boolean;
  /** Runs the cast; an error becomes an event. `frames` are the sender's frames after its invitation. */
  run(frames: AsyncIterator<SenderFrame, void, undefined>): Promise<void>;
  /** The receiver is closed. */
  abort(): void;
}

/** A conditional type, so that it distributes over the kinds of events. */
export type WithoutOrigin<E> = E extends ReceiverEvent ? Omit<E, 'castId' | 'from'> : never;
