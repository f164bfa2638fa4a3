import { tracingChannel } from 'node:diagnostics_channel';
import { onAbort, type Subscription, subscription } from '@rdmc/common';
import type { MemoryRegion } from '@rdmc/verbs';
import { DEFAULT_PROGRESS_INTERVAL_MS } from './constants.js';
import { GroupError } from './errors.js';
import type { RegionRange } from './group-options.js';
import type { GroupSession } from './group-session.js';
import { integerOption, onlyKnownOptions, signalOption } from './options.js';
import { type GroupProgress, ProgressWatch, progressOf } from './progress.js';
import type { ReceivedMessage } from './received-message.js';

const sendChannel = tracingChannel('@rdmc/group:send');
const closeChannel = tracingChannel('@rdmc/group:close');
const MAX_INTERVAL_MS = 0x7fff_ffff;

/** The options of `group.send`. */
export interface SendOptions {
  /** First byte to send, default 0. */
  readonly offset?: number;
  /** Bytes to send, default to the region's end; 0 is valid. */
  readonly byteLength?: number;
  /** Ends the call with an `AbortError`. See `send` for what then happens to the message. */
  readonly signal?: AbortSignal;
}

/** The options of `group.close`. */
export interface CloseOptions {
  /** Ends the wait for the other members with an `AbortError`. */
  readonly signal?: AbortSignal;
  /** How long to wait for the other members, in milliseconds (default: without limit). */
  readonly timeoutMs?: number;
}

/**
 * A group: one root that sends, and receivers that get every message once, in order (RDMC, DSN 2018, section 4.1).
 * Membership does not change. Created by `node.createGroup`.
 */
export class Group implements AsyncIterable<ReceivedMessage> {
  readonly #session: GroupSession;

  /** @internal */
  constructor(session: GroupSession) {
    this.#session = session;
  }

  /** The group's id, the same at all members. */
  get id(): number {
    return this.#session.options.id;
  }

  /** Ids, the root first. */
  get members(): readonly number[] {
    return this.#session.options.members;
  }

  /** Id of the member that sends: the first one of `members`. */
  get rootId(): number {
    return this.members[0]!;
  }

  /** The transports of blocks between members of this group: 'shm' (processes of one host), 'tcp', or both. */
  get transports(): readonly string[] {
    return this.#session.transports;
  }

  /** Whether this member sends. */
  get isRoot(): boolean {
    return this.#session.isRoot;
  }

  /** Aborted when the group ends. If it failed, the reason is the error. */
  get signal(): AbortSignal {
    return this.#session.lifetime.signal;
  }

  /** Resolves when the group has ended, with or without an error, and its resources here are freed. */
  get closed(): Promise<void> {
    return this.#session.lifetime.closed;
  }

  /**
   * Queues a message, at the root. Resolves when the device does not use the memory any more and it may be used again;
   * receivers then have the message or get it from one another. Messages are sent in the order of the calls.
   *
   * An abort of `signal` withdraws a message that has not started. A started message is still sent: the promise rejects
   * with an AbortError, whose `settled` resolves when the memory is free.
   *
   * @throws GroupError ERR_RDMC_NOT_ROOT, ERR_RDMC_INVALID_REGION, ERR_RDMC_TOO_MANY_BLOCKS, ERR_RDMC_GROUP_CLOSED,
   *   AbortError; ERR_RDMC_MEMBER_LOST with `memberId` and `reason` when the group fails, once the memory is free
   */
  async send(message: MemoryRegion | RegionRange, options: SendOptions = {}): Promise<void> {
    onlyKnownOptions('send', options, ['offset', 'byteLength', 'signal']);
    const signal = signalOption('send', options.signal);
    const { offset, byteLength } = options;
    const given =
      offset === undefined && byteLength === undefined
        ? message
        : {
            region: message as MemoryRegion,
            ...(offset !== undefined && { offset }),
            ...(byteLength !== undefined && { byteLength }),
          };
    const send = (): Promise<void> => this.#session.send(given, signal);
    return sendChannel.tracePromise(send, { group: this.id });
  }

  /**
   * The messages, at a receiver, in order. Ends when the root has closed and all were delivered; throws the
   * group's error after the last message that was delivered before it. One consumer at a time.
   * @throws GroupError ERR_RDMC_ITERATOR_TAKEN, ERR_RDMC_ROOT_RECEIVES_NOTHING
   */
  [Symbol.asyncIterator](): AsyncIterableIterator<ReceivedMessage> {
    if (this.isRoot) {
      throw new GroupError(
        'ERR_RDMC_ROOT_RECEIVES_NOTHING',
        `This node is the root of group ${this.id}, and does not receive; iterate at the other members`,
      );
    }
    return this.#session.inbox[Symbol.asyncIterator]();
  }

  /** The progress so far: a read of shared memory, which does not interrupt the worker. */
  progress(): GroupProgress {
    return progressOf(this.#session.counters);
  }

  /**
   * Calls `listener` with the progress after every `intervalMs` (default 100) in which it changed, until the group
   * ends.
   */
  onProgress(
    listener: (progress: GroupProgress) => void,
    options: { readonly intervalMs?: number } = {},
  ): Subscription {
    onlyKnownOptions('onProgress', options, ['intervalMs']);
    const { intervalMs = DEFAULT_PROGRESS_INTERVAL_MS } = options;
    integerOption('onProgress', 'intervalMs', intervalMs, 1, MAX_INTERVAL_MS);
    const watch = new ProgressWatch(() => this.progress(), listener, intervalMs);
    const onEnd = (): void => {
      watch.look();
      watch.stop();
    };
    const forget = onAbort(this.signal, onEnd);
    return subscription(() => {
      watch.stop();
      forget();
    });
  }

  /**
   * Ends the group, together with all members (RDMC, DSN 2018, section 4.6). The root sends its queued messages first.
   * Resolves only if every message reached every member. Frees the group's resources here in any case.
   * Idempotent: later calls wait for the same end.
   *
   * @throws GroupError ERR_RDMC_MEMBER_LOST if a failure is known, ERR_RDMC_CLOSE_UNKNOWN if `signal` or
   *   `timeoutMs` ended the wait: the messages may have reached all members, or not
   */
  async close(options: CloseOptions = {}): Promise<void> {
    onlyKnownOptions('close', options, ['signal', 'timeoutMs']);
    const signal = signalOption('close', options.signal);
    const { timeoutMs } = options;
    if (timeoutMs !== undefined) integerOption('close', 'timeoutMs', timeoutMs, 1, MAX_INTERVAL_MS);
    const close = (): Promise<void> => this.#session.close(signal, timeoutMs);
    return closeChannel.tracePromise(close, { group: this.id });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
