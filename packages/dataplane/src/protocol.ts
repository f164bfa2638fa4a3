import type { CompletionQueue, Device, ProtectionDomain, QueuePair, SubmissionQueue } from '@rdmc/verbs';
import type { NamedCounter } from './counters.js';
import type { CommandHandlers, EventHandlers, RecordTable } from './record-table.js';

/** Takes the completions of one queue pair. */
export interface CompletionHandler {
  /**
   * One completion: `words[base + CompletionWord.X]` of @rdmc/verbs. The words are valid during the call only.
   *
   * A work request that the device refused at posting comes as an error completion, too, in the next turn;
   * `completionFailure` tells why. Its queue pair is in the error state then, so that nothing posted behind it is carried out.
   */
  onCompletion(words: Uint32Array, base: number): void;
}

/**
 * What a protocol has to work with. Everything here belongs to the thread that the protocol runs in: the data plane's
 * worker, or the application's.
 */
export interface ProtocolContext<Table extends RecordTable = RecordTable> {
  /** The name the application gave the protocol. */
  readonly name: string;
  /** What the application passed as `data`; a clone, in the worker. */
  readonly data: unknown;
  readonly device: Device;
  readonly protectionDomain: ProtectionDomain;
  /** The one completion queue; create queue pairs with it. Never poll it: the loop does. */
  readonly completionQueue: CompletionQueue;
  /** Work requests of all protocols. The loop rings the doorbell once per turn; nobody else needs to. */
  readonly submission: SubmissionQueue;
  /** Sends events to the application, one function for each. Numbers and bytes are copied at once. */
  readonly events: EventHandlers<Table>;
  /** Completions of this queue pair go to the handler from now on. */
  attach(queuePair: QueuePair, handler: CompletionHandler): void;
  /**
   * Completions of this queue pair are dropped (and counted) from now on. Comes before its `close()`: what this turn has
   * written for it is posted first, because its number may soon be another queue pair's.
   */
  detach(queuePair: QueuePair): void;
  /** A counter in shared memory, named `<protocol>.<name>`. Keep the result; adding costs nothing. */
  counter(name: string): NamedCounter;
  /** Asks for another turn of the loop, also from asynchronous code while the loop sleeps. */
  wake(): void;
  /**
   * Asks for another turn although nothing has happened, to look at shared memory whose changes nobody reports; also from
   * asynchronous code. Looks are not work: they do not keep the loop polling once they end. Where they are all
   * there is to do, the thread yields its processor between two of them; where others want the processor, it sleeps for 0.1 ms
   * instead if all protocols that asked gave `mayNap`. A completion, a command or a timer ends that sleep. In the application's
   * thread the event loop has a turn in between.
   */
  look(mayNap: boolean): void;
}

/**
 * A protocol: code between the completion queue and the application. What a call throws, or rejects with, is its answer.
 * An exception anywhere else ends this protocol: its queue pairs are broken, and the application is told. The other protocols
 * of the data plane go on.
 */
export interface Protocol<Table extends RecordTable = RecordTable> {
  /** What is done at each command of the application. */
  readonly commands: CommandHandlers<Table>;
  /** After the commands and completions of a turn and before its doorbell. */
  onTurn?(): void;
  /**
   * Asked before the thread goes to sleep: whether nothing can go on here before a *solicited* completion (one
   * whose sender asked for an event, or an error). If all protocols say so, the completions of this side's own
   * requests wait, without waking the thread, until something else does. A protocol without this function waits for all
   * completions while it has queue pairs attached.
   */
  waitsForSolicited?(): boolean;
  /** The data plane closes. The loop goes on turning until the promise resolves. */
  stop?(): void | Promise<void>;
}

/** The default export of a protocol's module. */
export interface ProtocolWorker<Table extends RecordTable = RecordTable> {
  readonly records: Table;
  start(context: ProtocolContext<Table>): Protocol<Table> | Promise<Protocol<Table>>;
}

/** A protocol with its record table, for the default export of its module. */
export function protocolWorker<Table extends RecordTable>(
  records: Table,
  start: ProtocolWorker<Table>['start'],
): ProtocolWorker<Table> {
  return { records, start };
}
