import { Tracer } from '@rdmc/common';
import { ChannelEnd } from './channel-end.js';
import type { CheckedChannelOptions } from './channel-options.js';
import { signalOption } from './check-options.js';
import type { Environment } from './environment.js';
import { HiPowerError, throwIfAborted } from './errors.js';
import { Notifier } from './notifier.js';
import { RequesterSession } from './requester-session.js';
import { SlotStock } from './slot-stock.js';
import { WriteQueue } from './write-queue.js';

const ONE = (): number => 1;
const writeTrace = new Tracer<{ readonly channel: string; readonly byteLength: number }>(
  '@rdmc/hipower:write',
);
const endTrace = new Tracer<{ readonly channel: string }>('@rdmc/hipower:end');

/**
 * The sending end of a channel (HiPower, section 3.1: the requester, a data generator). With several responders every
 * message is sent to each of them (broadcast), and a slot is free when all have released it.
 *
 * Belongs to the thread that created it. There are two ways to send, which may be mixed:
 * `await write(bytes)`, which waits for room and copies; or `reserve`, fill, `commit`, which neither copies nor allocates.
 */
export class Requester extends ChannelEnd {
  readonly #session: RequesterSession;
  readonly #stock: SlotStock;
  readonly #notifier: Notifier;
  readonly #slotBytes: number;
  readonly #writes = new WriteQueue();
  #state: 'open' | 'ending' | 'closed' = 'open';
  #ending: Promise<void> | undefined;
  /** Waiters for all outstanding slots. */
  #draining = 0;
  readonly #isRoomy = (): boolean => this.#stock.room > 0;
  /** `end` has resolved, or will at once: everything that was written was released. */
  #isComplete = false;

  private constructor(
    session: RequesterSession,
    notifier: Notifier,
    news: { take: () => void },
    private readonly onClosed: (end: Requester) => void,
  ) {
    super(session);
    const { slots, slotBytes } = session.options;
    this.#session = session;
    this.#stock = new SlotStock(session.resources, slots, slotBytes);
    this.#notifier = notifier;
    this.#slotBytes = slotBytes;
    news.take = () => this.#takeNews();
  }

  /** @internal Use `HiPowerNode.createRequester`. */
  static async open(
    environment: Environment,
    options: CheckedChannelOptions,
    onClosed: (end: Requester) => void,
  ): Promise<Requester> {
    const notifier = new Notifier();
    const news = { take: (): void => {} };
    const session = await RequesterSession.open(environment, options, () => news.take());
    return new Requester(session, notifier, news, onClosed);
  }

  /** 1, and one more for every reconnect. */
  get generation(): number {
    return this.#session.generation;
  }

  /** Slots that may be reserved now; 0 once it is closed. */
  get room(): number {
    return this.#state === 'closed' ? 0 : this.#stock.room;
  }

  /** Largest message: one that fills all slots. */
  get maxMessageBytes(): number {
    return this.#session.options.slots * this.#slotBytes;
  }

  /** All slots, as registered memory: fill a reserved one from `offsetOf(slot)` on. */
  get memory(): Uint8Array {
    return this.#stock.bytes;
  }

  /**
   * Drops the present connections and opens new ones (after a change of the network, for example). No message is lost or
   * delivered twice: responders say where to continue. Connections that fail are opened again without this call.
   */
  reconnect(): void {
    this.#assertUsable();
    this.#session.reconnect();
  }

  /**
   * Reserves a slot for a message of that many bytes (0 to `slotBytes`); −1 if none is free: await `hasRoom()` then.
   * @throws HiPowerError ERR_RDMC_HIPOWER_MESSAGE_TOO_LARGE, ERR_RDMC_HIPOWER_BUSY while a message waits in
   *   `write`, ERR_RDMC_HIPOWER_ENDED, ERR_RDMC_HIPOWER_CLOSED; the error that ended the channel
   */
  reserve(byteLength: number): number {
    this.#assertOpen();
    if (!(byteLength >= 0 && byteLength <= this.#slotBytes))
      throw this.#tooLarge(byteLength, this.#slotBytes);
    if (!this.#writes.isEmpty) {
      throw new HiPowerError(
        'ERR_RDMC_HIPOWER_BUSY',
        `Requester '${this.channel}': a message waits for room; await its write() first`,
      );
    }
    // A drain waits for all slots except the reserved ones, and there are more of those now.
    if (this.#draining > 0) this.#notifier.notify();
    return this.#stock.reserve(byteLength);
  }

  /** Where the bytes of a reserved slot begin in `memory`: a multiple of 8. */
  offsetOf(slot: number): number {
    this.#assertReserved(slot);
    return this.#stock.offsetOf(slot);
  }

  /** Sends a reserved slot. Its memory belongs to the channel from then on. @throws as `reserve`; ERR_RDMC_HIPOWER_NOT_RESERVED */
  commit(slot: number): void {
    this.#assertReserved(slot);
    this.#assertOpen();
    if (this.#stock.commit(slot, 0)) this.#session.kick();
  }

  /** Frees a reserved slot without sending it. */
  cancel(slot: number): void {
    this.#assertReserved(slot);
    this.#stock.cancel(slot);
    this.#takeNews();
  }

  /**
   * Copies and sends a message of at most one slot if there is room; false: there is no room.
   * @throws as `reserve`
   */
  tryWrite(bytes: Uint8Array): boolean {
    const slot = this.reserve(bytes.byteLength);
    if (slot < 0) return false;
    this.#stock.bytes.set(bytes, this.#stock.offsetOf(slot));
    if (this.#stock.commit(slot, 0)) this.#session.kick();
    return true;
  }

  /**
   * Sends a message, in fragments if it is longer than a slot; resolves when the bytes were copied and may be
   * reused. Messages are sent in the order of the calls, each when there is room for all of it. An abort ends the wait, and
   * the message is not sent.
   * @throws HiPowerError ERR_RDMC_HIPOWER_MESSAGE_TOO_LARGE (more than the pool), ERR_RDMC_HIPOWER_ENDED,
   *   ERR_RDMC_HIPOWER_CLOSED; AbortError; the error that ended the channel
   */
  write(bytes: Uint8Array, options: { readonly signal?: AbortSignal } = {}): Promise<void> {
    if (!writeTrace.isWatched) return this.#write(bytes, options);
    return writeTrace.promise(
      () => ({ channel: this.channel, byteLength: bytes.byteLength }),
      () => this.#write(bytes, options),
    );
  }

  async #write(bytes: Uint8Array, options: { readonly signal?: AbortSignal }): Promise<void> {
    const signal = signalOption('write', options.signal);
    this.#assertOpen();
    if (bytes.byteLength > this.maxMessageBytes) throw this.#tooLarge(bytes.byteLength, this.maxMessageBytes);
    throwIfAborted('The write', signal);
    const slots = Math.max(1, Math.ceil(bytes.byteLength / this.#slotBytes));
    if (this.#writes.isEmpty && this.#stock.room >= slots) {
      this.#put(bytes);
      return;
    }
    const sent = this.#writes.add(bytes, slots, signal, () => this.#takeNews());
    this.#sendWaiting();
    await sent;
  }

  /** Resolves when a slot is free. @throws AbortError; the error that ended the channel */
  async hasRoom(options?: { readonly signal?: AbortSignal }): Promise<void> {
    const signal = signalOption('hasRoom', options?.signal);
    this.#assertUsable();
    if (this.#stock.room === 0) await this.#until(this.#isRoomy, ONE, 'Waiting for room', signal);
  }

  /** Resolves when every responder has released everything that was written. @throws as `hasRoom` */
  async drain(options: { readonly signal?: AbortSignal } = {}): Promise<void> {
    const signal = signalOption('drain', options.signal);
    this.#assertUsable();
    await this.#drained(signal);
  }

  /**
   * Announces the end: no message follows. Await your writes first. Resolves when every responder has received and released
   * everything, and closes then. @throws the error that ended the channel; its `progress` says what was consumed
   */
  end(): Promise<void> {
    this.#ending ??= endTrace.promise(
      () => ({ channel: this.channel }),
      () => this.#end(),
    );
    return this.#ending;
  }

  /** Closes at once: messages that are not released by then may or may not arrive. Idempotent; has no effect after `end`. */
  async close(): Promise<void> {
    this.#goClosed();
    await this.#session.close(false, 'the requester was closed');
    this.onClosed(this);
  }

  async #end(): Promise<void> {
    this.#assertOpen();
    this.#state = 'ending';
    try {
      await this.#until(() => this.#writes.isEmpty, undefined, 'Ending', undefined);
      this.#session.ending();
      this.#stock.end();
      this.#session.kick();
      await this.#drained(undefined);
      await this.#until(() => this.#session.allFinished, undefined, 'Ending', undefined);
      this.#isComplete = true;
    } finally {
      this.#goClosed();
      await this.#session.close(this.#session.error === undefined, this.#session.error?.message ?? '');
      this.onClosed(this);
    }
  }

  /** Every slot is free, except those that the application has reserved. */
  async #drained(signal: AbortSignal | undefined): Promise<void> {
    this.#draining += 1;
    try {
      const isOver = (): boolean => this.#isComplete || (this.#writes.isEmpty && this.#stock.allBack);
      await this.#until(isOver, () => this.#stock.allOthers, 'Draining', signal);
    } finally {
      this.#draining -= 1;
    }
  }

  /** Waits until `isOver`, which that many free slots may bring about; without a number, other events do. */
  async #until(
    isOver: () => boolean,
    slots: (() => number) | undefined,
    what: string,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    while (!isOver()) {
      this.#assertUsable();
      if (slots) {
        this.#stock.wantRoom(slots());
        // Slots that came back before the worker could see the request do not raise an event.
        if (isOver()) return;
        this.#session.kick();
      }
      await this.#notifier.wait(what, signal);
      if (!this.#isComplete) this.#assertUsable();
    }
  }

  /** Slots came back, a responder has finished, or the channel has ended. */
  #takeNews(): void {
    if (this.#session.error) this.#writes.fail(this.#session.error);
    else if (this.#state !== 'closed') this.#sendWaiting();
    this.#notifier.notify();
  }

  /** Sends the messages that there is room for, and requests the room that the next message needs. */
  #sendWaiting(): void {
    for (;;) {
      while (!this.#writes.isEmpty && this.#stock.room >= this.#writes.needed)
        this.#writes.sendNext(this.#put);
      if (this.#writes.isEmpty) return;
      this.#stock.wantRoom(this.#writes.needed);
      if (this.#stock.room < this.#writes.needed) break;
    }
    this.#session.kick();
  }

  /** Copies a message into slots, for which there is room, and sends them. */
  readonly #put = (bytes: Uint8Array): void => {
    const total = bytes.byteLength;
    let at = 0;
    do {
      const length = Math.min(this.#slotBytes, total - at);
      const slot = this.#stock.reserve(length);
      this.#stock.bytes.set(
        at === 0 && length === total ? bytes : bytes.subarray(at, at + length),
        this.#stock.offsetOf(slot),
      );
      at += length;
      if (this.#stock.commit(slot, total - at)) this.#session.kick();
    } while (at < total);
  };

  #goClosed(): void {
    this.#state = 'closed';
    this.#writes.fail(this.#session.error ?? this.#closedError());
    this.#notifier.notify();
  }

  #assertUsable(): void {
    if (this.#session.error) throw this.#session.error;
    if (this.#state === 'closed') throw this.#closedError();
  }

  #assertOpen(): void {
    this.#assertUsable();
    if (this.#state === 'ending') {
      throw new HiPowerError(
        'ERR_RDMC_HIPOWER_ENDED',
        `Requester '${this.channel}' has ended; write before end()`,
      );
    }
  }

  #assertReserved(slot: number): void {
    if (this.#stock.isReserved(slot)) return;
    throw new HiPowerError(
      'ERR_RDMC_HIPOWER_NOT_RESERVED',
      `Requester '${this.channel}': slot ${String(slot)} is not reserved; call reserve() for each message`,
    );
  }

  #closedError(): HiPowerError {
    return new HiPowerError('ERR_RDMC_HIPOWER_CLOSED', `Requester '${this.channel}' is closed`);
  }

  #tooLarge(bytes: number, limit: number): HiPowerError {
    return new HiPowerError(
      'ERR_RDMC_HIPOWER_MESSAGE_TOO_LARGE',
      `Requester '${this.channel}': a message of ${String(bytes)} bytes does not fit (at most ${limit}); ` +
        'send less, or use more or larger slots',
    );
  }
}
