import { ChannelEnd } from './channel-end.js';
import type { CheckedChannelOptions } from './channel-options.js';
import { signalOption } from './check-options.js';
import { CLOSE_TIMEOUT_MS } from './constants.js';
import { DeliveryTable, NONE } from './delivery-table.js';
import type { Environment } from './environment.js';
import { HiPowerError, type Progress } from './errors.js';
import { refreshLimit } from './machine/refresh-rule.js';
import { Message } from './message.js';
import { Notifier } from './notifier.js';
import { closedError, ResponderSession } from './responder-session.js';

/**
 * The receiving end of a channel (HiPower, section 3.1: the responder, a data consumer). With several requesters it
 * gathers: messages of one requester arrive in its order, those of different requesters in any order.
 *
 * Belongs to the thread that created it. There are two ways to receive: `for await (const message of responder)`, or the calls on
 * handles (`take`, `sizeOf`, `offsetOf`, `release`), which do not allocate. In both, the application owns a message's slots
 * until it releases them, in any order; a requester waits while all its slots are held.
 */
export class Responder extends ChannelEnd {
  readonly #session: ResponderSession;
  readonly #table: DeliveryTable;
  readonly #notifier: Notifier;
  readonly #ended: Set<number>;
  #iterating = false;
  #closing: Promise<void> | undefined;

  private constructor(
    session: ResponderSession,
    table: DeliveryTable,
    notifier: Notifier,
    ended: Set<number>,
    private readonly onClosed: (end: Responder) => void,
  ) {
    super(session);
    this.#session = session;
    this.#table = table;
    this.#notifier = notifier;
    this.#ended = ended;
  }

  /** @internal Use `HiPowerNode.createResponder`. */
  static async open(
    environment: Environment,
    options: CheckedChannelOptions,
    onClosed: (end: Responder) => void,
  ): Promise<Responder> {
    const { slots, slotBytes, peers, mode, confirmation, refreshThreshold } = options;
    const notifier = new Notifier();
    const ended = new Set<number>();
    let table: DeliveryTable | undefined;
    const session = await ResponderSession.open(environment, options, (opened) => {
      const onEnd = (peer: number): void => {
        ended.add(peer);
        opened.finished(peer);
      };
      const perRequest = confirmation === 'per-request';
      const settings = {
        slots,
        slotBytes,
        peers: peers.length,
        perRequest,
        refreshLimit: refreshLimit(slots * peers.length, refreshThreshold),
        mayWantKick: !perRequest && mode === 'pull',
      };
      const made = new DeliveryTable(opened.resources, settings, onEnd);
      table = made;
      return { onNews: () => notifier.notify(), progress: () => progressOf(made, peers) };
    });
    return new Responder(session, table!, notifier, ended, onClosed);
  }

  /** The slots of all requesters, as registered memory: messages begin at `offsetOf(handle)`. */
  get memory(): Uint8Array {
    return this.#table.bytes;
  }

  /** Whether every requester has ended and all messages were taken. */
  get isComplete(): boolean {
    return this.#ended.size === this.peers.length;
  }

  /** Handle of the next message, an integer from 0, or −1 if there is none: await `readable()` then. */
  take(): number {
    if (this.#closing) throw closedError(this.channel);
    const handle = this.#table.take();
    if (this.#table.wantsKick) this.#session.kick();
    return handle;
  }

  /**
   * Resolves with true when `take` may have a message, with false when every requester has ended and no message is left.
   * @throws HiPowerError the error that ended the channel, after all messages that arrived were taken; AbortError
   */
  async readable(options?: { readonly signal?: AbortSignal }): Promise<boolean> {
    const signal = signalOption('readable', options?.signal);
    for (;;) {
      if (this.#closing) throw closedError(this.channel);
      if (!this.#table.isEmpty) return true;
      if (this.isComplete) return false;
      if (this.#session.error) throw this.#session.error;
      this.#table.wantEvent();
      if (this.#table.wantsKick) this.#session.kick();
      if (!this.#table.isEmpty) continue;
      await this.#notifier.wait('Waiting for a message', signal);
    }
  }

  /** Size of the whole message in bytes. As all calls on handles: @throws ERR_RDMC_HIPOWER_RELEASED */
  sizeOf(handle: number): number {
    this.#assertHeld(handle);
    return this.#table.sizeOf(handle);
  }

  /** Where a message's first part begins in `memory`. */
  offsetOf(handle: number): number {
    this.#assertHeld(handle);
    return this.#table.offsetOf(handle);
  }

  /** Length of a message's first part, which is the whole message unless it is longer than a slot. */
  lengthOf(handle: number): number {
    this.#assertHeld(handle);
    return this.#table.lengthOf(handle);
  }

  /** The member that sent it. */
  senderOf(handle: number): number {
    this.#assertHeld(handle);
    return this.peers[this.#table.peerOf(handle)]!;
  }

  /** The message in place, one view per slot. */
  partsOf(handle: number): Uint8Array[] {
    this.#assertHeld(handle);
    return this.#table.partsOf(handle);
  }

  /** Releases a message's slots to its requester. Call it once. @throws HiPowerError ERR_RDMC_HIPOWER_RELEASED, ERR_RDMC_HIPOWER_CLOSED */
  release(handle: number): void {
    this.#assertHeld(handle);
    if (this.#table.release(handle)) this.#session.kick();
  }

  /**
   * Messages until every requester has ended. Not a `SingleConsumer`: nothing is pushed, messages are taken out of registered
   * memory when they are asked for.
   * @throws HiPowerError ERR_RDMC_HIPOWER_ITERATOR_TAKEN; what ended the channel
   */
  async *[Symbol.asyncIterator](): AsyncGenerator<Message, void, void> {
    if (this.#iterating) {
      throw new HiPowerError(
        'ERR_RDMC_HIPOWER_ITERATOR_TAKEN',
        `Responder '${this.channel}' can be iterated only once; an iterator is already active`,
      );
    }
    this.#iterating = true;
    try {
      while (await this.readable()) {
        for (let handle = this.take(); handle !== NONE; handle = this.take()) {
          yield new Message(this, handle, this.senderOf(handle), this.sizeOf(handle));
        }
      }
    } finally {
      this.#iterating = false;
    }
  }

  /**
   * Closes. After the end of all requesters it first waits until they know that everything was released, a few
   * seconds at most; before the end, they fail with ERR_RDMC_HIPOWER_PEER_CLOSED. Idempotent.
   */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const complete =
      this.isComplete && progressOf(this.#table, this.peers).every((p) => p.delivered === p.released);
    this.#notifier.notify();
    if (complete) await this.#session.confirmClose(CLOSE_TIMEOUT_MS);
    await this.#session.close(this.#session.error?.message ?? 'the responder was closed', complete);
    this.onClosed(this);
  }

  #assertHeld(handle: number): void {
    if (this.#closing) throw closedError(this.channel);
    if (this.#table.isHeld(handle)) return;
    throw new HiPowerError(
      'ERR_RDMC_HIPOWER_RELEASED',
      `Responder '${this.channel}': handle ${String(handle)} is not that of a held message; it was released before`,
    );
  }
}

function progressOf(table: DeliveryTable, peers: readonly number[]): Progress[] {
  return peers.map((memberId, peer) => ({
    memberId,
    delivered: table.delivered(peer),
    released: table.released(peer),
  }));
}
