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
import { DataPlaneError } from './errors.js';
import { type Attachment, HostedProtocol } from './hosted-protocol.js';
import type { CompletionHandler, ProtocolContext, ProtocolWorker } from './protocol.js';
import type { EventHandlers, RecordTable } from './record-table.js';

/** What a host works with, and what its driver does for it. */
export interface HostParts {
  readonly device: Device;
  readonly protectionDomain: ProtectionDomain;
  readonly completionQueue: CompletionQueue;
  readonly counters: CounterBlock;
  /** Asks for a turn. */
  readonly wake: () => void;
  /** Asks for a turn, for a look: `ProtocolContext.look`. */
  readonly look: (mayNap: boolean) => void;
  /** A protocol threw, and is no more. */
  readonly onFailure: (protocol: HostedProtocol, error: unknown) => void;
}

/**
 * Runs protocols: gives them their contexts, hands completions to the right one, and ends one that throws without harm to
 * the others. A driver (`WorkerDriver`, `InlineDriver`) turns it, and brings commands and events across.
 */
export class ProtocolHost {
  readonly submission: SubmissionQueue;
  readonly #attachments = new Map<number, Attachment>();
  readonly #protocols: HostedProtocol[] = [];
  /** The protocols that want a call after each batch of work. */
  #turning: HostedProtocol[] = [];
  /** Queue pairs of protocols that have failed. */
  readonly #closing: Promise<void>[] = [];
  /** Requests that were refused at posting, for their handlers in the next turn. */
  #refused: Uint32Array[] = [];

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
    hosted.protocol = await worker.start(this.#context(hosted, data, eventsOf(hosted)));
    if (typeof hosted.protocol?.commands !== 'object') {
      throw new DataPlaneError(
        'ERR_RDMC_INVALID_PROTOCOL',
        `Protocol '${name}': its start() must return an object with commands`,
      );
    }
    if (hosted.protocol.onTurn) this.#turning = [...this.#turning, hosted];
    return hosted;
  }

  readonly dispatchCompletions = (count: number): void => {
    const { words } = this.parts.completionQueue;
    for (let next = 0; next < count; ) next = this.#dispatch(words, next, count);
  };

  /** Hands out what was refused since the last call; returns how many requests that were. */
  readonly dispatchRefused = (): number => {
    const refused = this.#refused;
    if (refused.length === 0) return 0;
    this.#refused = [];
    for (const completion of refused) this.#dispatch(completion, 0, 1);
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

  /** Whether a solicited completion is the next thing that any protocol can do something with. */
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

  /** Stops all protocols; rejects, when all have stopped, with what one of them threw. */
  async stop(): Promise<void> {
    const running = this.#protocols.filter(({ failure }) => !failure);
    const stopped = await Promise.allSettled(running.map(async ({ protocol }) => protocol?.stop?.()));
    const failed = stopped.find((result) => result.status === 'rejected');
    if (failed) throw failed.reason;
  }

  /** Ends a protocol that threw: its queue pairs are broken, and closed. */
  fail(hosted: HostedProtocol, error: unknown): void {
    if (hosted.failure) return;
    hosted.failure = { error };
    this.#turning = this.#turning.filter((other) => other !== hosted);
    const own = [...this.#attachments.values()].filter(({ owner }) => owner === hosted);
    for (const { queuePair } of own) breakQueuePair(queuePair);
    // What it wrote in this turn must not go to a later queue pair of the same number.
    this.submission.flush();
    for (const { queuePair } of own) {
      this.#attachments.delete(queuePair.number);
      this.#close(queuePair);
    }
    this.parts.onFailure(hosted, error);
  }

  /** Resolves when the queue pairs of protocols that have failed are closed. */
  async released(): Promise<void> {
    await Promise.all(this.#closing);
  }

  #close(queuePair: QueuePair): void {
    this.#closing.push(queuePair.close().catch(() => {}));
  }

  /** From `first` on, until all are handed out or a handler throws. Returns where to go on. */
  #dispatch(words: Uint32Array, first: number, count: number): number {
    let next = first;
    let attachment: Attachment | undefined;
    try {
      for (; next < count; next += 1) {
        const base = next * Layout.COMPLETION_WORDS;
        attachment = this.#attachments.get(words[base + CompletionWord.QUEUE_PAIR]!);
        if (attachment) attachment.handler.onCompletion(words, base);
        else this.parts.counters.values[Counter.unclaimedCompletions]! += 1;
      }
    } catch (error) {
      this.fail(attachment!.owner, error);
    }
    return next + 1;
  }

  /** Called during a flush. What is posted behind a refused request must not be carried out as if there was no gap. */
  #refuse(completion: Uint32Array): void {
    const attachment = this.#attachments.get(completion[CompletionWord.QUEUE_PAIR]!);
    if (attachment) breakQueuePair(attachment.queuePair);
    this.#refused.push(completion);
    this.parts.wake();
  }

  #attach(hosted: HostedProtocol, queuePair: QueuePair, handler: CompletionHandler): void {
    if (hosted.failure) {
      // Asynchronous code of a protocol that has ended meanwhile.
      breakQueuePair(queuePair);
      this.#close(queuePair);
      return;
    }
    hosted.attached += 1;
    this.#attachments.set(queuePair.number, { queuePair, handler, owner: hosted });
  }

  #detach(hosted: HostedProtocol, queuePair: QueuePair): void {
    if (this.submission.pending > 0) this.submission.flush();
    if (this.#attachments.delete(queuePair.number)) hosted.attached -= 1;
  }

  #context<Table extends RecordTable>(
    hosted: HostedProtocol,
    data: unknown,
    events: EventHandlers<Table>,
  ): ProtocolContext<Table> {
    const { device, protectionDomain, completionQueue, counters, wake, look } = this.parts;
    const { submission } = this;
    return {
      name: hosted.name,
      data,
      device,
      protectionDomain,
      completionQueue,
      submission,
      events,
      attach: (queuePair, handler) => this.#attach(hosted, queuePair, handler),
      detach: (queuePair) => this.#detach(hosted, queuePair),
      counter: (counter) => counters.named(`${hosted.name}.${counter}`),
      wake,
      look,
    };
  }
}

/** A barrier: nothing of it is carried out afterwards. One that is closed already needs none. */
function breakQueuePair(queuePair: QueuePair): void {
  try {
    queuePair.modifyToError();
  } catch {
    // Closed, or gone with its device.
  }
}
