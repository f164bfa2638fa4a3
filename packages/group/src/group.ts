import type { Readable, Writable } from 'node:stream';
import { onAbort, type Subscription, subscription, Tracer } from '@rdmc/common';
import type { MemoryRegion } from '@rdmc/verbs';
import { BATCH_MESSAGES, DEFAULT_PROGRESS_INTERVAL_MS } from './constants.js';
import type { GroupMember, RegionRange } from './group-options.js';
import { GroupReadable } from './group-readable.js';
import type { GroupSession } from './group-session.js';
import { GroupWritable, type WritableOptions } from './group-writable.js';
import { checkMessages, isBytes, lengthOf, messageBytes } from './message-bytes.js';
import { integerOption, onlyKnownOptions, signalOption } from './options.js';
import { type GroupProgress, ProgressWatch } from './progress.js';
import type { ReceivedMessage } from './received-message.js';
import type { GroupSkew } from './skew/group-skew.js';

interface SendMessage {
  readonly group: number;
  readonly node: number;
  readonly byteLength: number;
}

const sendTrace = new Tracer<SendMessage>('@rdmc/group:send');
const closeTrace = new Tracer<{ readonly group: number; readonly node: number }>('@rdmc/group:close');
const MAX_INTERVAL_MS = 0x7fff_ffff;
const NO_OPTIONS: SendOptions = {};

/** The options of `group.send`. */
export interface SendOptions {
  /** First byte to send, default 0. */
  readonly offset?: number;
  /** Bytes to send, default to the end of the region or of the bytes; 0 is valid. */
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
 * A group: one root that sends, and receivers that get every message once, in order (RDMC, DSN 2018, section 4.1). With the
 * option `senders`, several members send. Membership does not change. Created by `node.createGroup`.
 */
export class Group implements AsyncIterable<ReceivedMessage> {
  readonly #session: GroupSession;
  #writable: GroupWritable | undefined;

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

  /** The processes of `members`, in the same order. All members have confirmed this list. */
  get processes(): readonly GroupMember[] {
    const { members, incarnations } = this.#session.options;
    return members.map((id, index) => ({ id, incarnation: incarnations[index]! }));
  }

  /** The number in its series of the first message; 0 where the group is not a part of one. */
  get first(): number {
    return this.#session.options.first;
  }

  /** Id of the first one of `members`: the member that sends, unless the group has many senders. */
  get rootId(): number {
    return this.members[0]!;
  }

  /** The transports of blocks: 'shm' (processes of one host), 'tcp', or both; over RDMA 'roce' or 'infiniband'. */
  get transports(): readonly string[] {
    return this.#session.transports;
  }

  /** Ids of the members that send, in the order of `members`. */
  get senders(): readonly number[] {
    return this.#session.senders;
  }

  /** Whether this member sends. */
  get isSender(): boolean {
    return this.senders.includes(this.#session.memberId);
  }

  /** Whether this member is the first one of `members`. */
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
   * Queues a message, at the root or another sender. Resolves when the device does not use the memory any more and it may be
   * used again; receivers then have the message or get it from one another. Messages are sent in the order of the calls.
   *
   * A region of this node, or a part of one, is sent in place: the fast path. Bytes (a Buffer or another Uint8Array, also
   * over a SharedArrayBuffer) are copied first, into registered memory that the group allocates when it needs it and uses
   * again: at most `sendBufferBytes` of `createGroup`. While all of it is in use, the message waits, and so do the messages
   * behind it. Do not change, transfer or resize the bytes before the promise resolves.
   *
   * Bytes of at most `smallMessageBytes` are copied into the group's ring, and the promise resolves at once while that has
   * room. Messages that one piece of synchronous code sends go to the receivers together.
   *
   * In a group of many senders every message goes through the ring, a region too, and is at most `smallMessageBytes` long.
   *
   * An abort of `signal` withdraws a message that has not started. A started message is still sent: the promise rejects
   * with an AbortError, whose `settled` resolves when the memory is free.
   *
   * @throws GroupError ERR_RDMC_NOT_ROOT, ERR_RDMC_NOT_SENDER, ERR_RDMC_INVALID_REGION, ERR_RDMC_TOO_MANY_BLOCKS,
   *   ERR_RDMC_GROUP_CLOSED, AbortError; ERR_RDMC_MEMBER_LOST with `memberId` and `reason` when the group fails, once the
   *   memory is free. For bytes ERR_RDMC_MESSAGE_TOO_LARGE (more than `sendBufferBytes`; with many senders,
   *   `smallMessageBytes`), ERR_RDMC_INVALID_MESSAGE (text, another kind of array, or a detached buffer), and VerbsError
   *   ERR_RDMC_OUT_OF_MEMORY
   */
  async send(
    message: MemoryRegion | RegionRange | Uint8Array,
    options: SendOptions = NO_OPTIONS,
  ): Promise<void> {
    if (options === NO_OPTIONS && this.#trySmall(message)) return;
    onlyKnownOptions('send', options, ['offset', 'byteLength', 'signal']);
    const signal = signalOption('send', options.signal);
    if (isBytes(message)) return this.#sendBytes(messageBytes(message, options), signal);
    const { offset, byteLength } = options;
    const given =
      offset === undefined && byteLength === undefined
        ? message
        : {
            region: message as MemoryRegion,
            ...(offset !== undefined && { offset }),
            ...(byteLength !== undefined && { byteLength }),
          };
    if (!sendTrace.isWatched) return this.#session.send(given, signal);
    return sendTrace.promise(
      () => this.#described(byteLengthOf(given)),
      () => this.#session.send(given, signal),
    );
  }

  /**
   * Sends an array of messages, at a sender, in its order, as `send` does with each of them; it costs less for many small
   * ones. Resolves when all of them may be changed again. Nothing is sent if one of them is refused.
   * @throws GroupError as `send` for bytes
   */
  async sendMany(messages: readonly Uint8Array[]): Promise<void> {
    checkMessages(messages);
    if (!sendTrace.isWatched) return this.#session.sendMany(messages);
    return sendTrace.promise(
      () => this.#described(lengthOf(messages)),
      () => this.#session.sendMany(messages),
    );
  }

  /**
   * A stream whose bytes are sent as messages, at the root; for `stream.pipeline`, and for web streams by
   * `Writable.toWeb`. Receivers get the same bytes in the same order, by `readable()` or as messages; the limits of
   * chunks and messages differ: long chunks are cut, and chunks that wait are combined.
   *
   * A chunk is copied, as bytes that are given to `send`; back-pressure begins when `sendBufferBytes` are in use.
   * The end of the stream closes the group: 'finish', and the end of `pipeline`, mean that every receiver has every
   * byte. To write further streams into the group, give `pipeline` the option `{ end: false }`. A failure of the group
   * destroys the stream with the group's error. A stream that is destroyed before its end fails the group at all members:
   * receivers must not take a part for the whole.
   * @throws GroupError ERR_RDMC_NOT_ROOT, ERR_RDMC_MANY_SENDERS, ERR_RDMC_STREAM_TAKEN while another one is open,
   *   ERR_RDMC_INVALID_OPTION, ERR_RDMC_UNKNOWN_OPTION
   */
  writable(options: WritableOptions = {}): Writable {
    this.#session.assertOneSender();
    this.#session.assertSender();
    if (this.#writable && !this.#writable.destroyed) throw GroupWritable.taken(this.id);
    this.#writable = new GroupWritable(this.#session, () => this.close(), options);
    return this.#writable;
  }

  /**
   * The bytes of all messages, at a receiver, as a stream; for `stream.pipeline`, and for web streams by `Readable.toWeb`.
   * Chunks are copies, and belong to the reader; each message is released when it was copied. A reader that is slow
   * delays the group after 64 messages.
   *
   * Ends when the root has closed the group and everything was read. A failure of the group destroys the stream with the
   * group's error, after the last message that was delivered before it. A stream that is destroyed before this member has
   * received everything leaves the group: it fails at all members, and the other members get ERR_RDMC_MEMBER_LOST with
   * this member's id.
   * @throws GroupError ERR_RDMC_ITERATOR_TAKEN, ERR_RDMC_MANY_SENDERS, ERR_RDMC_ROOT_RECEIVES_NOTHING
   */
  readable(): Readable {
    this.#session.assertOneSender();
    const messages = this[Symbol.asyncIterator]();
    return new GroupReadable(messages, this.#session);
  }

  /**
   * The messages, at a receiver, in order. Ends when the senders have closed and all were delivered; throws the
   * group's error after the last message that was delivered before it. One consumer at a time.
   * @throws GroupError ERR_RDMC_ITERATOR_TAKEN, ERR_RDMC_ROOT_RECEIVES_NOTHING
   */
  [Symbol.asyncIterator](): AsyncIterableIterator<ReceivedMessage> {
    this.#session.assertReceiver();
    return this.#session.inbox[Symbol.asyncIterator]();
  }

  /**
   * The messages, at a receiver, in order and in batches: all that have arrived, at most 1024 at once and never none. For
   * many small messages this costs less than the iteration of single ones; both have the same order, the same end and the
   * same single consumer. Release each message.
   * @throws GroupError ERR_RDMC_ITERATOR_TAKEN, ERR_RDMC_ROOT_RECEIVES_NOTHING
   */
  messages(): AsyncIterableIterator<readonly ReceivedMessage[]> {
    this.#session.assertReceiver();
    return this.#session.inbox.batches(BATCH_MESSAGES);
  }

  /** The progress so far: a read of memory, which does not interrupt the worker. */
  progress(): GroupProgress {
    return this.#session.progress();
  }

  /**
   * First and last receiver of the messages of blocks, at the root of a group with the option `arrivals`. After `close` it has all
   * messages; before, reports of the last 10 ms can be missing. Undefined at receivers, without the option, and before every
   * receiver has reported a message.
   */
  skew(): GroupSkew | undefined {
    return this.#session.skew;
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
   * Ends the group, together with all members (RDMC, DSN 2018, section 4.6). The root, or with many senders each of them, sends
   * its queued messages first; the group ends when all senders have called this.
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
    const close = (): Promise<void> => this.#session.close({ signal, timeoutMs });
    return closeTrace.promise(() => ({ group: this.id, node: this.#session.memberId }), close);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** For series. @throws GroupError ERR_RDMC_MANY_SENDERS @internal */
  assertOneSender(): void {
    this.#session.assertOneSender();
  }

  #trySmall(message: unknown): boolean {
    return !sendTrace.isWatched && isBytes(message) && this.#session.trySmall(message);
  }

  async #sendBytes(bytes: Uint8Array, signal: AbortSignal | undefined): Promise<void> {
    const send = async (): Promise<void> => {
      const { sent } = await this.#session.queueBytes([bytes], signal);
      return sent;
    };
    return sendTrace.promise(() => this.#described(bytes.byteLength), send);
  }

  #described(byteLength: number): SendMessage {
    return { group: this.id, node: this.#session.memberId, byteLength };
  }
}

/** For a message: what was given may be anything. */
function byteLengthOf(given: MemoryRegion | RegionRange): number {
  if (typeof given !== 'object' || given === null) return 0;
  if (!('region' in given)) return given.byteLength;
  return given.byteLength ?? (given.region?.byteLength ?? 0) - (given.offset ?? 0);
}
