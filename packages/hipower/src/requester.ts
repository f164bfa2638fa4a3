import { Bell } from './bell.js';
import type { ChannelCounters } from './channel-counters.js';
import type { CheckedChannelOptions } from './channel-options.js';
import { signalOption } from './check-options.js';
import type { Environment } from './environment.js';
import { HiPowerError } from './errors.js';
import { Wish } from './layout/channel-memory.js';
import { RequesterSession } from './requester-session.js';
import { SlotStock } from './slot-stock.js';

/**
 * The sending end of a channel (HiPower, section 3.1: the requester, a data generator). With several responders every
 * message goes to each of them (broadcast), and a slot is free when all have released it.
 *
 * Belongs to the thread that made it. Two ways to send, which may be mixed:
 * `await write(bytes)`, which waits for room and copies; or `reserve`, fill, `commit`, which copies and allocates nothing.
 */
export class Requester {
  readonly #session: RequesterSession;
  readonly #stock: SlotStock;
  readonly #bell: Bell;
  readonly #slotBytes: number;
  /** A message in fragments is under way: nothing may come between them. */
  #writing: Promise<void> | undefined;
  #state: 'open' | 'ending' | 'closed' = 'open';
  #ending: Promise<void> | undefined;

  /** Callers of `drain` that wait. */
  #drains = 0;

  private constructor(
    session: RequesterSession,
    bell: Bell,
    private readonly onClosed: (end: Requester) => void,
  ) {
    const { slots, slotBytes } = session.options;
    this.#session = session;
    this.#stock = new SlotStock(session.resources, slots, slotBytes);
    this.#bell = bell;
    this.#slotBytes = slotBytes;
  }

  /** @internal Use `HiPowerNode.createRequester`. */
  static async open(
    environment: Environment,
    options: CheckedChannelOptions,
    onClosed: (end: Requester) => void,
  ): Promise<Requester> {
    const bell = new Bell();
    const session = await RequesterSession.open(environment, options, () => bell.ring());
    return new Requester(session, bell, onClosed);
  }

  get channel(): string {
    return this.#session.channel;
  }

  /** Responders. */
  get peers(): readonly number[] {
    return this.#session.options.peers;
  }

  /** What messages travel by, per responder: 'shm', 'tcp'. */
  get transports(): readonly string[] {
    return this.#session.transports;
  }

  /** 1, and one more for every time the connection was made again. */
  get generation(): number {
    return this.#session.generation;
  }

  /** Slots that may be reserved now. */
  get room(): number {
    return this.#stock.room;
  }

  /** Largest message: one that fills all slots. */
  get maxMessageBytes(): number {
    return this.#session.options.slots * this.#slotBytes;
  }

  /** All slots, as registered memory: fill a reserved one from `offsetOf(slot)` on. */
  get memory(): Uint8Array {
    return this.#stock.bytes;
  }

  counters(): ChannelCounters {
    return this.#session.counters();
  }

  /**
   * Gives up the present connections and makes new ones (after a change of the network, say). Nothing is lost or
   * delivered twice: responders say where to go on. Connections that break are made again by themselves.
   */
  reconnect(): void {
    this.#assertUsable();
    this.#session.reconnect();
  }

  /**
   * Takes a slot for a message of so many bytes (0 to `slotBytes`); −1 where none is free: await `hasRoom()` then.
   * @throws HiPowerError ERR_RDMC_HIPOWER_MESSAGE_TOO_LARGE, ERR_RDMC_HIPOWER_BUSY while a fragmented message is
   *   written, ERR_RDMC_HIPOWER_ENDED, ERR_RDMC_HIPOWER_CLOSED; what ended the channel
   */
  reserve(lengthBytes: number): number {
    this.#assertOpen();
    if (!(lengthBytes >= 0 && lengthBytes <= this.#slotBytes))
      throw this.#tooLarge(lengthBytes, this.#slotBytes);
    if (this.#writing) {
      throw new HiPowerError(
        'ERR_RDMC_HIPOWER_BUSY',
        `Requester '${this.channel}': a message in fragments is being written; await its write() first`,
      );
    }
    return this.#stock.reserve(lengthBytes);
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

  /** Gives a reserved slot back unsent. */
  cancel(slot: number): void {
    this.#assertReserved(slot);
    this.#stock.cancel(slot);
    this.#bell.ring();
  }

  /**
   * Copies and sends a message of at most one slot, if there is room; false: there is none.
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
   * Sends a message, in fragments where it is longer than a slot; resolves when the bytes were copied and may be
   * reused. Messages go in the order of the calls. An abort ends the wait for room, and the message is not sent;
   * one whose first fragments are on their way can no longer be aborted.
   * @throws HiPowerError ERR_RDMC_HIPOWER_MESSAGE_TOO_LARGE (more than the pool), ERR_RDMC_HIPOWER_ENDED,
   *   ERR_RDMC_HIPOWER_CLOSED, ERR_RDMC_ABORTED; what ended the channel
   */
  async write(bytes: Uint8Array, options: { readonly signal?: AbortSignal } = {}): Promise<void> {
    const signal = signalOption('write', options.signal);
    this.#assertOpen();
    if (bytes.byteLength > this.maxMessageBytes) throw this.#tooLarge(bytes.byteLength, this.maxMessageBytes);
    while (this.#writing) await this.#writing;
    if (bytes.byteLength <= this.#slotBytes && this.tryWrite(bytes)) return;
    const writing = this.#writeFragments(bytes, signal);
    const settled = writing.catch(() => {});
    this.#writing = settled;
    void settled.then(() => {
      if (this.#writing === settled) this.#writing = undefined;
    });
    await writing;
  }

  /** Resolves when a slot is free. @throws HiPowerError ERR_RDMC_ABORTED; what ended the channel */
  async hasRoom(options: { readonly signal?: AbortSignal } = {}): Promise<void> {
    const signal = signalOption('hasRoom', options.signal);
    while (this.#stock.room === 0) await this.#wait(() => this.#stock.room > 0, 'Waiting for room', signal);
    this.#assertUsable();
  }

  /** Resolves when every responder has released everything sent so far. @throws as `hasRoom` */
  async drain(options: { readonly signal?: AbortSignal } = {}): Promise<void> {
    const signal = signalOption('drain', options.signal);
    await this.#writing;
    this.#drains += 1;
    try {
      await this.#drain(Wish.DRAIN, () => this.#stock.allBack, signal);
    } finally {
      this.#drains -= 1;
      if (this.#state === 'open' && this.#drains === 0) this.#stock.wish(0);
    }
  }

  /**
   * No message follows; await your writes first. Resolves when every responder has received and released everything, and closes then.
   * @throws what ended the channel; its `progress` says what was and what was not consumed
   */
  end(): Promise<void> {
    this.#ending ??= this.#end();
    return this.#ending;
  }

  /** Ends at once: what is not released by then may or may not arrive. Idempotent; after `end` it does nothing. */
  async close(): Promise<void> {
    if (this.#state !== 'closed') {
      this.#state = 'closed';
      await this.#session.close(false, 'the requester was closed');
      this.#bell.ring();
    }
    await this.#session.close(false, '');
    this.onClosed(this);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #end(): Promise<void> {
    this.#assertOpen();
    this.#state = 'ending';
    await this.#writing;
    try {
      const over = (): boolean => this.#stock.allBack && this.#session.allFinished;
      await this.#drain(Wish.DRAIN | Wish.END, over);
    } finally {
      this.#state = 'closed';
      await this.#session.close(this.#session.error === undefined, this.#session.error?.message ?? '');
      this.onClosed(this);
    }
  }

  async #drain(wish: number, isOver: () => boolean, signal?: AbortSignal): Promise<void> {
    this.#assertUsable();
    this.#stock.wish(wish);
    this.#session.kick();
    while (!isOver()) await this.#wait(isOver, 'Draining', signal);
  }

  async #writeFragments(bytes: Uint8Array, signal: AbortSignal | undefined): Promise<void> {
    const total = bytes.byteLength;
    for (let at = 0; at < total || total === 0; ) {
      const length = Math.min(this.#slotBytes, total - at);
      let slot = this.#stock.reserve(length);
      while (slot < 0) {
        await this.#wait(() => this.#stock.room > 0, 'Waiting for room', at === 0 ? signal : undefined);
        slot = this.#stock.reserve(length);
      }
      this.#stock.bytes.set(bytes.subarray(at, at + length), this.#stock.offsetOf(slot));
      at += length;
      if (this.#stock.commit(slot, total - at)) this.#session.kick();
      if (total === 0) return;
    }
  }

  /** Waits for news, unless `isOver` by now. */
  async #wait(isOver: () => boolean, what: string, signal: AbortSignal | undefined): Promise<void> {
    this.#assertUsable();
    this.#stock.wantEvent();
    if (isOver()) return;
    this.#session.kick();
    await this.#bell.wait(what, signal);
    this.#assertUsable();
  }

  #assertUsable(): void {
    if (this.#session.error) throw this.#session.error;
    if (this.#state === 'closed') {
      throw new HiPowerError('ERR_RDMC_HIPOWER_CLOSED', `Requester '${this.channel}' is closed`);
    }
  }

  #assertOpen(): void {
    this.#assertUsable();
    if (this.#state === 'ending') {
      throw new HiPowerError(
        'ERR_RDMC_HIPOWER_ENDED',
        `Requester '${this.channel}' has ended; nothing may follow`,
      );
    }
  }

  #assertReserved(slot: number): void {
    if (this.#stock.isReserved(slot)) return;
    throw new HiPowerError(
      'ERR_RDMC_HIPOWER_NOT_RESERVED',
      `Requester '${this.channel}': slot ${String(slot)} is not reserved; reserve() gives one, once`,
    );
  }

  #tooLarge(bytes: number, limit: number): HiPowerError {
    return new HiPowerError(
      'ERR_RDMC_HIPOWER_MESSAGE_TOO_LARGE',
      `Requester '${this.channel}': a message of ${String(bytes)} bytes, and at most ${limit} fit; ` +
        'take more slots, or larger ones',
    );
  }
}
