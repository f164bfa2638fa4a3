import type { ConnectOrder, PairAnswer, Trouble } from '../records.js';

/** A channel in the worker, of either role. */
export interface WorkerChannel {
  /** On the list of channels to advance. */
  touched: boolean;
  /** As `Protocol.waitsForSolicited`. */
  readonly waitsForSolicited: boolean;
  /** It waits for batches of BATCH_BYTES: a nap is short compared to the rest of the pool. */
  readonly isBulky: boolean;
  createPair(peer: number, generation: number): PairAnswer;
  connect(order: ConnectOrder): Promise<string>;
  start(): void;
  /** Requesters: this responder has everything, and is skipped from now on. */
  dismiss(peer: number): void;
  /** Called once per turn in which the channel had an event. */
  advance(): void;
  /** The application did something. */
  kick(): void;
  close(): void;
}

/** The protocol's interface for a channel. */
export interface ChannelPort {
  /** Schedules an `advance` in this turn, or in the next one: there was an event. */
  touch(): void;
  /** Schedules an `advance` in the next turn, without an event. */
  lookAgain(): void;
  /** A look found something. */
  worked(): void;
  wakeApplication(): void;
  trouble(peer: number, generation: number, kind: Trouble['kind'], code: string, reason: string): void;
}
