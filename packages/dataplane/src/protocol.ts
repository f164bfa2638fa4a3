import type { CompletionQueue, Device, ProtectionDomain, SubmissionQueue } from '@rdmc/verbs';
import type { NamedCounter } from './counters.js';

/** Takes the completions of one queue pair. */
export interface CompletionHandler {
  /**
   * One completion: `words[base + CompletionWord.X]` of @rdmc/verbs. The words are valid during the call only.
   */
  onCompletion(words: Uint32Array, base: number): void;
}

/**
 * What a protocol has to work with, inside the worker. Everything here belongs to the worker's thread.
 */
export interface ProtocolContext {
  /** The name the application gave the protocol. */
  readonly name: string;
  /** What the application passed as `data`, cloned. */
  readonly data: unknown;
  readonly device: Device;
  readonly protectionDomain: ProtectionDomain;
  /** The one completion queue; create queue pairs with it. Never poll it: the loop does. */
  readonly completionQueue: CompletionQueue;
  /**
   * Work requests of all protocols. The loop rings the doorbell once per turn; nobody else needs to.
   * Flush it yourself before closing a queue pair that this turn has posted to.
   */
  readonly submission: SubmissionQueue;
  /** Completions of this queue pair go to the handler from now on. */
  attach(queuePair: number, handler: CompletionHandler): void;
  /** Completions of this queue pair are dropped (and counted) from now on. */
  detach(queuePair: number): void;
  /** Answers a command. Request id 0 (a post) is ignored. @throws DataPlaneError ERR_RDMC_RECORD_TOO_LARGE */
  reply(requestId: number, payload?: Uint8Array): void;
  /** Answers a command with an error: the application's promise rejects with a ProtocolError of this code. */
  fail(requestId: number, code: string, message: string): void;
  /** Sends an event to the application. Kind: 0 to 65535. @throws DataPlaneError ERR_RDMC_RECORD_TOO_LARGE */
  emit(kind: number, payload?: Uint8Array): void;
  /** A counter in shared memory, named `<protocol>.<name>`. Keep the result; adding costs nothing. */
  counter(name: string): NamedCounter;
  /** Asks for another turn of the loop, also from asynchronous code while the loop sleeps. */
  wake(): void;
}

/**
 * A protocol: code that runs in the worker, between the completion queue and the application.
 * An exception thrown by any of these is the death of the worker, with that exception as the cause.
 */
export interface Protocol {
  /** A command or a post (request id 0) of the application. The payload is a copy and may be kept. */
  onCommand(kind: number, requestId: number, payload: Uint8Array): void;
  /** After the commands and completions of a turn and before its doorbell. */
  onTurn?(): void;
  /**
   * Asked before the worker goes to sleep: whether nothing can go on here before a *solicited* completion (one
   * whose sender asked for an event, or an error). If all protocols say so, the completions of this side's own
   * requests wait, without waking the worker, until something else does.
   */
  waitsForSolicited?(): boolean;
  /** The data plane closes. The loop goes on turning until the promise resolves. */
  stop?(): void | Promise<void>;
}

/** The default export of a protocol's module. */
export type ProtocolFactory = (context: ProtocolContext) => Protocol | Promise<Protocol>;
