import type { ConnectOrder, PairAnswer, Trouble } from '../records.js';

/** A channel in the worker, of either role. */
export interface WorkerChannel {
  /** On the list of those to advance. */
  touched: boolean;
  /** As `Protocol.waitsForSolicited`. */
  readonly waitsForSolicited: boolean;
  /** What it waits for comes, or goes, in batches of BATCH_BYTES: a nap is short beside what the pool still holds. */
  readonly isBulky: boolean;
  createPair(peer: number, generation: number): PairAnswer;
  connect(order: ConnectOrder): Promise<string>;
  start(): void;
  /** Requesters: this responder has everything, and is left out from now on. */
  dismiss(peer: number): void;
  /** Once per turn in which something happened to it. */
  advance(): void;
  /** The application did something. */
  kick(): void;
  close(): void;
}

/** What a channel may ask of the protocol. */
export interface ChannelPort {
  /** An `advance` in this turn, or in the next one: something happened. */
  touch(): void;
  /** An `advance` in the next turn, though nothing happened. */
  lookAgain(): void;
  /** A look found something. */
  worked(): void;
  wakeApplication(): void;
  trouble(peer: number, generation: number, kind: Trouble['kind'], code: string, reason: string): void;
}
