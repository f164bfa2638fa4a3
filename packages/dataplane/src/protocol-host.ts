import { codeOf } from '@rdmc/common';
import {
  type CompletionQueue,
  CompletionWord,
  type Device,
  Layout,
  type ProtectionDomain,
  type QueuePair,
  type SubmissionQueue,
} from '@rdmc/verbs';
import { Counter, type CounterBlock } from './counters.js';
import { type Attachment, HostedProtocol } from './hosted-protocol.js';
import type { CompletionHandler, ProtocolContext, ProtocolWorker } from './protocol.js';
import { commandsOf } from './record-functions.js';
import type { EventHandlers, RecordTable } from './record-table.js';
import type { TraceSink } from './trace/recorder.js';

/** The parts that a host uses, and the functions of its driver. */
export interface HostParts {
  readonly device: Device;
  readonly protectionDomain: ProtectionDomain;
  readonly completionQueue: CompletionQueue;
  readonly counters: CounterBlock;
  readonly trace?: TraceSink | undefined;
  /** Asks for a turn. */
  readonly wake: () => void;
  /** Asks for a turn, for a look: `ProtocolContext.look`. */
  readonly look: (mayNap: boolean) => void;
  /** Called when a protocol threw and has ended. */
  readonly onFailure: (protocol: HostedProtocol, error: unknown) => void;
}

/** A request that was refused at posting, and the attachment of its queue pair at that time. */
interface Refused {
  readonly completion: Uint32Array;
  readonly attachment: Attachment | undefined;
}

/**
 * Runs protocols: creates their contexts, dispatches completions to their handlers, and ends a protocol that throws
 * without affecting the others. A driver (`WorkerDriver`, `InlineDriver`) runs its turns, and transports commands and
 * events.
 */
export class ProtocolHost {
  readonly submission: SubmissionQueue;
  readonly #attachments = new Map<number, Attachment>();
  readonly #protocols: HostedProtocol[] = [];
  /** The protocols with an `onTurn`. */
  #turning: HostedProtocol[] = [];
  /** Queue pairs of protocols that have failed. */
  readonly #closing: Promise<void>[] = [];
  /** Requests that were refused at posting, for their handlers in the next turn. */
  #refused: Refused[] = [];

  constructor(private readonly parts: HostParts) {
    this.submission = parts.device.createSubmissionQueue({
      onRefused: (completion) => this.#refuse(completion),
    });
  }

  /** Starts a protocol; they are numbered from 1 in the order of these calls. */
  async add<Table extends RecordTable>(
    name: string,
    data: unknown,
    worker: ProtocolWorker<Table>,
    eventsOf: (hosted: HostedProtocol) => EventHandlers<Table>,
  ): Promise<HostedProtocol> {
    const hosted = new HostedProtocol(this.#protocols.length + 1, name);
    this.#protocols.push(hosted);
    const protocol = await worker.start(this.#context(hosted, data, eventsOf(hosted)));
    if (hosted.failure) throw hosted.failure.error;
    commandsOf(name, worker.records, protocol);
    hosted.protocol = protocol;
    if (protocol.onTurn) this.#turning = [...this.#turning, hosted];
    return hosted;
  }

  readonly dispatchCompletions = (count: number): void => {
    const { words } = this.parts.completionQueue;
    for (let next = 0; next < count; ) next = this.#dispatch(words, next, count);
  };

  /** Dispatches the requests that were refused since the last call; returns their number. */
  readonly dispatchRefused = (): number => {
    const refused = this.#refused;
    if (refused.length === 0) return 0;
    this.#refused = [];
    for (const { completion, attachment } of refused) {
      // Another queue pair may have the same number now.
      if (attachment && this.#attachments.get(attachment.queuePair.number) !== attachment) this.#unclaimed();
      else this.#dispatch(completion, 0, 1);
    }
    return refused.length;
  };

  readonly afterWork = (): void => {
    for (const hosted of this.#turning) {
      try {
        hosted.protocol!.onTurn!();
      } catch (error) {
        this.fail(hosted, error);
      }
    }
  };

  /** Whether all protocols wait for solicited completions only. */
  readonly waitsForSolicited = (): boolean => {
    for (const hosted of this.#protocols) {
      try {
        if (!hosted.waitsForSolicited) return false;
      } catch (error) {
        this.fail(hosted, error);
      }
    }
    return true;
  };

  readonly ringDoorbell = (): void => {
    if (this.submission.pending > 0) this.submission.flush();
  };

  /** Stops all protocols. When all have stopped or failed, rejects with the first error of a `stop`, if any. */
  async stop(): Promise<void> {
    const running = this.#protocols.filter(({ failure }) => !failure);
    const stopping = running.map(async ({ protocol, failed }) => {
      await Promise.race([protocol?.stop?.(), failed]);
    });
    const stopped = await Promise.allSettled(stopping);
    const failed = stopped.find((result) => result.status === 'rejected');
    if (failed) throw failed.reason;
  }

  /** Ends a protocol that threw: its queue pairs are broken, and closed. */
  fail(hosted: HostedProtocol, error: unknown): void {
    if (hosted.failure) return;
    hosted.fail(error);
    this.#turning = this.#turning.filter((other) => other !== hosted);
    this.#discard([...this.#attachments.values()].filter(({ owner }) => owner === hosted));
    this.parts.onFailure(hosted, error);
  }

  /** Closes the queue pairs that are still attached; resolves when these and those of failed protocols are closed. */
  async release(): Promise<void> {
    this.#discard([...this.#attachments.values()]);
    await Promise.all(this.#closing);
  }

  #discard(attachments: readonly Attachment[]): void {
    for (const { queuePair } of attachments) breakQueuePair(queuePair);
    this.#flushWritten();
    for (const { queuePair } of attachments) {
      this.#attachments.delete(queuePair.number);
      this.#close(queuePair);
    }
  }

  /**
   * Posts the requests of this turn, so that they do not go to a later queue pair with the same number. A closed device
   * does not have requests.
   */
  #flushWritten(): void {
    try {
      this.submission.flush();
    } catch (error) {
      if (codeOf(error) !== 'ERR_RDMC_DEVICE_CLOSED') throw error;
    }
  }

  #close(queuePair: QueuePair): void {
    this.#closing.push(queuePair.close().catch(() => {}));
  }

  /** Dispatches from `first` on, until the end or until a handler throws. Returns the index to continue at. */
  #dispatch(words: Uint32Array, first: number, count: number): number {
    let next = first;
    let attachment: Attachment | undefined;
    try {
      for (; next < count; next += 1) {
        const base = next * Layout.COMPLETION_WORDS;
        attachment = this.#attachments.get(words[base + CompletionWord.QUEUE_PAIR]!);
        if (attachment) attachment.handler.onCompletion(words, base);
        else this.#unclaimed();
      }
    } catch (error) {
      this.fail(attachment!.owner, error);
    }
    return next + 1;
  }

  #unclaimed(): void {
    this.parts.counters.values[Counter.unclaimedCompletions]! += 1;
  }

  /** Called during a flush. Requests behind a refused one must not be executed as if the refused one had been. */
  #refuse(completion: Uint32Array): void {
    const attachment = this.#attachments.get(completion[CompletionWord.QUEUE_PAIR]!);
    if (attachment) breakQueuePair(attachment.queuePair);
    this.#refused.push({ completion, attachment });
    this.parts.wake();
  }

  #attach(hosted: HostedProtocol, queuePair: QueuePair, handler: CompletionHandler): void {
    if (hosted.failure) {
      // Asynchronous code of a protocol that has already ended.
      breakQueuePair(queuePair);
      this.#close(queuePair);
      return;
    }
    this.#remove(queuePair);
    hosted.attached += 1;
    this.#attachments.set(queuePair.number, { queuePair, handler, owner: hosted });
  }

  #detach(queuePair: QueuePair): void {
    if (this.submission.pending > 0) this.submission.flush();
    this.#remove(queuePair);
  }

  #remove({ number }: QueuePair): void {
    const attachment = this.#attachments.get(number);
    if (!attachment) return;
    attachment.owner.attached -= 1;
    this.#attachments.delete(number);
  }

  #context<Table extends RecordTable>(
    hosted: HostedProtocol,
    data: unknown,
    events: EventHandlers<Table>,
  ): ProtocolContext<Table> {
    const { device, protectionDomain, completionQueue, counters, trace, wake, look } = this.parts;
    const { submission } = this;
    return {
      name: hosted.name,
      data,
      device,
      protectionDomain,
      completionQueue,
      submission,
      trace,
      events,
      attach: (queuePair, handler) => this.#attach(hosted, queuePair, handler),
      detach: (queuePair) => this.#detach(queuePair),
      counter: (counter) => counters.named(`${hosted.name}.${counter}`),
      wake,
      look,
    };
  }
}

/** A barrier: its requests are not executed afterwards. A closed queue pair does not need it. */
function breakQueuePair(queuePair: QueuePair): void {
  try {
    queuePair.modifyToError();
  } catch {
    // The queue pair is closed, or its device is.
  }
}
