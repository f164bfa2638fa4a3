import type { ProtectionDomain, SubmissionQueue } from '@rdmc/verbs';
import { type CompletionQueue, CompletionWord, type Device, Layout } from '@rdmc/verbs';
import { MAX_KIND, ReplyKind, SYSTEM_PROTOCOL, SystemKind } from './constants.js';
import { Counter, type CounterBlock } from './counters.js';
import { DataPlaneError } from './errors.js';
import type { EventOutbox } from './event-outbox.js';
import type { CompletionHandler, Protocol, ProtocolContext, ProtocolFactory } from './protocol.js';
import { encodeFailure, tagOf } from './records.js';
import type { RingReader } from './ring.js';
import type { WorkerLoop } from './worker-loop.js';

/** What a worker holds for all its protocols. */
export interface HostParts {
  readonly device: Device;
  readonly protectionDomain: ProtectionDomain;
  readonly completionQueue: CompletionQueue;
  readonly submission: SubmissionQueue;
  readonly counters: CounterBlock;
  readonly outbox: EventOutbox;
}

/** Runs the protocols: gives them their contexts, and hands completions and commands to the right one. */
export class ProtocolHost {
  readonly #handlers = new Map<number, CompletionHandler>();
  readonly #protocols: Protocol[] = [];
  /** The protocols that want a call after each batch of work. */
  readonly #turning: Protocol[] = [];
  #loop: WorkerLoop | undefined;

  constructor(
    private readonly parts: HostParts,
    private readonly onStop: () => void,
  ) {}

  /** The loop is made after the host; nothing can arrive before. */
  bind(loop: WorkerLoop): void {
    this.#loop = loop;
  }

  /** Starts a protocol; they are numbered from 1 in the order of these calls. */
  async add(name: string, data: unknown, factory: ProtocolFactory): Promise<void> {
    const number = this.#protocols.length + 1;
    const protocol = await factory(this.#context(number, name, data));
    if (typeof protocol?.onCommand !== 'function') {
      throw new DataPlaneError(
        'ERR_RDMC_INVALID_PROTOCOL',
        `Protocol '${name}': its factory must return an object with onCommand()`,
      );
    }
    this.#protocols.push(protocol);
    if (protocol.onTurn) this.#turning.push(protocol);
  }

  readonly dispatchCompletions = (count: number): void => {
    const { words } = this.parts.completionQueue;
    for (let i = 0, base = 0; i < count; i += 1, base += Layout.COMPLETION_WORDS) {
      const handler = this.#handlers.get(words[base + CompletionWord.QUEUE_PAIR]!);
      if (handler) handler.onCompletion(words, base);
      else this.parts.counters.values[Counter.unclaimedCompletions]! += 1;
    }
  };

  readonly dispatchCommand = (record: RingReader): void => {
    const protocol = record.tag >>> 16;
    const kind = record.tag & MAX_KIND;
    if (protocol !== SYSTEM_PROTOCOL) {
      this.#protocols[protocol - 1]!.onCommand(kind, record.request, record.payload);
    } else if (kind === SystemKind.STOP) {
      this.onStop();
    }
  };

  readonly afterWork = (): void => {
    for (const protocol of this.#turning) protocol.onTurn!();
  };

  /** Whether a solicited completion is the next thing that any protocol can do something with. */
  readonly waitsForSolicited = (): boolean =>
    this.#protocols.every((protocol) => protocol.waitsForSolicited?.() ?? false);

  readonly ringDoorbell = (): void => {
    if (this.parts.submission.pending > 0) this.parts.submission.flush();
  };

  async stop(): Promise<void> {
    await Promise.all(this.#protocols.map(async (protocol) => protocol.stop?.()));
  }

  #send(counter: number, tag: number, request: number, payload: Uint8Array | undefined): void {
    const delivered = this.parts.outbox.send(tag, request, payload);
    this.parts.counters.values[counter]! += 1;
    this.#loop?.sent(delivered);
  }

  #context(number: number, name: string, data: unknown): ProtocolContext {
    const { device, protectionDomain, completionQueue, submission, counters, outbox } = this.parts;
    const done = tagOf(number, ReplyKind.DONE);
    const failed = tagOf(number, ReplyKind.FAILED);
    return {
      name,
      data,
      device,
      protectionDomain,
      completionQueue,
      submission,
      attach: (queuePair, handler) => void this.#handlers.set(queuePair, handler),
      detach: (queuePair) => void this.#handlers.delete(queuePair),
      reply: (request, payload) => {
        if (request !== 0) this.#send(Counter.replies, done, request, payload);
      },
      fail: (request, code, message) => {
        if (request === 0) return;
        this.#send(Counter.replies, failed, request, encodeFailure(code, message, outbox.maxPayload));
      },
      emit: (kind, payload) => this.#send(Counter.events, tagOf(number, kind), 0, payload),
      counter: (counter) => counters.named(`${name}.${counter}`),
      wake: () => this.#loop?.askTurn(),
    };
  }
}
