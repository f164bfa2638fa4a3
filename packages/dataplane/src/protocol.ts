import type { CompletionQueue, Device, ProtectionDomain, QueuePair, SubmissionQueue } from '@rdmc/verbs';
import type { NamedCounter } from './counters.js';
import type { CommandHandlers, EventHandlers, RecordTable } from './record-table.js';
import type { TraceSink } from './trace/recorder.js';

/** Handles the completions of one queue pair. */
export interface CompletionHandler {
  /**
   * One completion: `words[base + CompletionWord.X]` of @rdmc/verbs. The words are valid during the call only.
   *
   * A work request that the device refused at posting comes as an error completion, too, in the next turn;
   * `completionFailure` gives the reason. Its queue pair is in the error state then, so that requests behind it are not
   * executed.
   */
  onCompletion(words: Uint32Array, base: number): void;
}

/**
 * The context of a protocol. Everything in it belongs to the thread of the protocol: the data plane's worker, or
 * the application's thread.
 */
export interface ProtocolContext<Table extends RecordTable = RecordTable> {
  /** The name that the application gave to the protocol. */
  readonly name: string;
  /** The application's option `data`; a clone, in the worker. */
  readonly data: unknown;
  /** The device of the data plane, attached in this thread. */
  readonly device: Device;
  /** The protection domain of all protocols: regions and queue pairs belong to it. */
  readonly protectionDomain: ProtectionDomain;
  /** The one completion queue; create queue pairs with it. Do not poll it: the loop does. */
  readonly completionQueue: CompletionQueue;
  /** Work requests of all protocols. The loop rings the doorbell once per turn; protocols do not need to. */
  readonly submission: SubmissionQueue;
  /** Where this thread records what happens; undefined without a trace: then do nothing, not even read the time. */
  readonly trace: TraceSink | undefined;
  /** Sends events to the application, one function for each. Numbers and bytes are copied at once. */
  readonly events: EventHandlers<Table>;
  /** Completions of this queue pair go to the handler from now on. */
  attach(queuePair: QueuePair, handler: CompletionHandler): void;
  /**
   * Completions of this queue pair are dropped (and counted) from now on. Call it before the queue pair's `close()`: it
   * first posts the requests that this turn has written for it, because another queue pair may soon get its number.
   */
  detach(queuePair: QueuePair): void;
  /** A counter in shared memory, named `<protocol>.<name>`. Keep the result; adding is cheap. */
  counter(name: string): NamedCounter;
  /** Asks for another turn of the loop, also from asynchronous code while the loop sleeps. */
  wake(): void;
  /**
   * Asks for another turn without an event, to read shared memory whose changes are not reported; also from
   * asynchronous code. Looks are not work: they do not keep the loop polling once they end. If they are the only
   * work, the thread yields its processor between two of them. If other threads want the processor, it sleeps for 0.1
   * ms instead, if all protocols that asked gave `mayNap`. A completion, a command or a timer ends that sleep. In the
   * application's thread the event loop has a turn in between.
   */
  look(mayNap: boolean): void;
}

/**
 * A protocol: code between the completion queue and the application. An exception or a rejection of a call is its
 * answer. An exception anywhere else ends this protocol: its queue pairs are broken, and its client is told. The other
 * protocols of the data plane continue.
 */
export interface Protocol<Table extends RecordTable = RecordTable> {
  /** The handlers of the application's commands. */
  readonly commands: CommandHandlers<Table>;
  /** Called after the commands and completions of a turn and before its doorbell. */
  onTurn?(): void;
  /**
   * Called before the thread goes to sleep. Returns whether only a *solicited* completion (one whose sender asked for
   * an event, or an error) allows this protocol to progress. If all protocols return true, completions of this side's
   * own requests do not wake the thread; they wait for the next wake-up. A protocol without this function waits for all
   * completions while it has queue pairs attached.
   */
  waitsForSolicited?(): boolean;
  /** Called when the data plane closes. The loop continues until the promise resolves. */
  stop?(): void | Promise<void>;
}

/** The default export of a protocol's module. */
export interface ProtocolWorker<Table extends RecordTable = RecordTable> {
  /** The commands and events of the protocol. */
  readonly records: Table;
  /** Creates the protocol, in its thread. A rejection fails the start of the data plane. */
  start(context: ProtocolContext<Table>): Protocol<Table> | Promise<Protocol<Table>>;
}

/** A protocol with its record table: the default export of its module. */
export function protocolWorker<Table extends RecordTable>(
  records: Table,
  start: ProtocolWorker<Table>['start'],
): ProtocolWorker<Table> {
  return { records, start };
}
