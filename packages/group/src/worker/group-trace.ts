import {
  NONE,
  TraceKind,
  type TraceKindNumber,
  TraceProtocol,
  type TraceSink,
  type TraceSubject,
  traceSubject,
} from '@rdmc/dataplane/trace';

/** A transfer between this member and the neighbour `pair` that has not completed. */
interface Pending {
  readonly slot: number;
  readonly pair: number;
  readonly message: number;
  readonly block: number;
}

/** What a member waits for. `pair` −1: no neighbour. */
export interface Wait {
  readonly kind: WaitKind;
  readonly message: number;
  readonly block: number;
  readonly pair: number;
}

export type WaitKind =
  | typeof TraceKind.WAITS_FOR_NOTHING
  | typeof TraceKind.WAITS_FOR_BLOCK
  | typeof TraceKind.WAITS_FOR_READY
  | typeof TraceKind.WAITS_FOR_SENT
  | typeof TraceKind.WAITS_FOR_APPLICATION;

const NOTHING: Wait = { kind: TraceKind.WAITS_FOR_NOTHING, message: NONE, block: NONE, pair: -1 };

/**
 * Records what one member of a group does. The machine calls it only if there is a trace. It remembers the transfers under way,
 * so that a wait can be put down to a neighbour.
 */
export class GroupTrace {
  readonly #subject: TraceSubject;
  /** In the order in which they were posted. */
  readonly #receives: Pending[] = [];
  readonly #sends: Pending[] = [];
  #wait: Wait = NOTHING;

  constructor(
    private readonly sink: TraceSink,
    group: number,
    /** Ids of the neighbours, by `pair`. */
    private readonly peers: readonly number[],
  ) {
    this.#subject = traceSubject(TraceProtocol.GROUP, group);
  }

  /** A message began here: at the root with its `send`, elsewhere with its first block, or with the header that goes ahead. */
  began(message: number, blocks: number): void {
    this.sink.put(this.#subject, TraceKind.BEGAN, message, blocks, NONE);
  }

  /** The application gave memory. */
  placed(message: number): void {
    this.sink.put(this.#subject, TraceKind.PLACED, message, NONE, NONE);
  }

  /** The first block was copied into its place. */
  copied(message: number, block: number): void {
    this.sink.put(this.#subject, TraceKind.COPIED, message, block, NONE);
  }

  /** The message is complete here, and its part was relayed. */
  finished(message: number): void {
    this.sink.put(this.#subject, TraceKind.FINISHED, message, NONE, NONE);
  }

  /** The receive for the first block of a message that is not known yet has neither message nor block. */
  receivePosted(slot: number, pair: number, message = NONE, block = NONE): void {
    this.#receives.push({ slot, pair, message, block });
    this.#put(TraceKind.RECEIVE_POSTED, message, block, pair);
  }

  /** The receive in `slot` was filled. */
  received(slot: number, message: number, block: number): void {
    const { pair } = take(this.#receives, slot);
    this.#put(TraceKind.RECEIVED, message, block, pair);
  }

  /** A neighbour was told the number of receives that were posted for it. */
  announced(pair: number, count: number): void {
    this.#put(TraceKind.ANNOUNCED, NONE, count, pair);
  }

  /** A neighbour told its number. */
  ready(pair: number, count: number): void {
    this.#put(TraceKind.READY, NONE, count, pair);
  }

  /** A send was written for the device. */
  sendStarted(slot: number, pair: number, message: number, block: number): void {
    this.#sends.push({ slot, pair, message, block });
    this.#put(TraceKind.SEND_STARTED, message, block, pair);
  }

  /** The send in `slot` has completed. */
  sendFinished(slot: number): void {
    const { pair, message, block } = take(this.#sends, slot);
    this.#put(TraceKind.SEND_FINISHED, message, block, pair);
  }

  /** The receive in `slot` has a header that goes ahead of its message: not a block, so without a record. */
  headerReceived(slot: number): void {
    take(this.#receives, slot);
  }

  /** A header that goes ahead of its message was written for the device. */
  headerStarted(slot: number, pair: number, message: number): void {
    this.#sends.push({ slot, pair, message, block: NONE });
  }

  /** The header in `slot` was sent. */
  headerFinished(slot: number): void {
    take(this.#sends, slot);
  }

  /** The neighbour that will send a block: of the posted receives the block's own, else the oldest. */
  senderOf(message: number, block: number): number {
    const own = this.#receives.find((each) => each.message === message && each.block === block);
    return (own ?? this.#receives[0])?.pair ?? -1;
  }

  /** The receive that was posted first and is not filled. */
  get oldestReceive(): Pending | undefined {
    return this.#receives[0];
  }

  /** The send that was posted first and has not completed. */
  get oldestSend(): Pending | undefined {
    return this.#sends[0];
  }

  /** Recorded only if it differs from the wait before. */
  waits(wait: Wait): void {
    const { kind, message, block, pair } = wait;
    const last = this.#wait;
    const isSame = last.kind === kind && last.pair === pair && last.message === message;
    if (isSame && last.block === block) return;
    this.#wait = wait;
    this.#put(kind, message, block, pair);
  }

  /** The group has stopped: what was not finished is not waited for any more. */
  ended(): void {
    this.waits(NOTHING);
  }

  #put(kind: TraceKindNumber, message: number, block: number, pair: number): void {
    this.sink.put(this.#subject, kind, message, block, pair === -1 ? NONE : this.peers[pair]!);
  }
}

/** Removes the transfer in `slot`. */
function take(list: Pending[], slot: number): Pending {
  return list.splice(
    list.findIndex((each) => each.slot === slot),
    1,
  )[0]!;
}
