import type { ProtocolContext } from '@rdmc/dataplane';
import {
  type CompletionFailure,
  CompletionWord,
  type ConnectOptions,
  completionFailure,
  Opcode,
  type QueuePair,
  remoteKey,
  Status,
  WorkRequestFlag,
} from '@rdmc/verbs';
import { CONTROL_SEND_DEPTH } from '../constants.js';
import type { GroupRecords, PairAddress } from '../records.js';
import type { Break } from './broken-pairs.js';

/** The purpose of a work request: the high word of its id. The low word is a slot or a number. */
export const Purpose = { RECEIVE: 1, SEND: 2, ANNOUNCEMENT: 3, ANNOUNCEMENT_RECEIVE: 4, PROBE: 5 } as const;

/** The most probes that are outstanding, beside the announcements. */
const PROBES = 1;

/** A completion at this member, and a solicited event at the neighbour. */
const FOR_BOTH_SIDES = WorkRequestFlag.SIGNALED | WorkRequestFlag.SOLICITED;

const TWO_32 = 4_294_967_296;

/** Handles the completions of a neighbour's queue pairs. */
export interface PairListener {
  received(pair: number, slot: number, immediate: number, bytes: number): void;
  sent(pair: number, slot: number): void;
  announced(pair: number, count: number): void;
  announcementConfirmed(pair: number, number: number): void;
  probed(pair: number): void;
  failed(pair: number, purpose: number, failure: CompletionFailure): void;
}

/** A request without bytes does not need a key. */
const NO_KEY = remoteKey(0);

/** The two queue pairs shared with one neighbour: blocks on one, announcements on the other. */
export class PairQueues {
  readonly #data: QueuePair;
  readonly #control: QueuePair;

  constructor(
    private readonly context: ProtocolContext<GroupRecords>,
    private readonly pair: number,
    private readonly listener: PairListener,
    receiveWindow: number,
    sendDepth: number,
  ) {
    const { protectionDomain, completionQueue } = context;
    const queues = { sendQueue: completionQueue, receiveQueue: completionQueue };
    this.#data = protectionDomain.createQueuePair({
      ...queues,
      sendDepth,
      receiveDepth: receiveWindow,
    });
    try {
      this.#control = protectionDomain.createQueuePair({
        ...queues,
        sendDepth: CONTROL_SEND_DEPTH + PROBES,
        receiveDepth: receiveWindow,
      });
    } catch (error) {
      // Nobody else knows of the other one.
      void this.#data.close();
      throw error;
    }
    context.attach(this.#data, this);
    context.attach(this.#control, this);
  }

  get address(): PairAddress {
    return { data: this.#data.address, control: this.#control.address };
  }

  /** The number of the queue pair for blocks. */
  get dataNumber(): number {
    return this.#data.number;
  }

  /** Whether and how the queue pair for blocks has failed; it is not closed. Calls of the addon. */
  get breaks(): Break {
    if (this.#data.state !== 'ERROR') return 'none';
    return this.#data.queryAttributes().brokenByWait === 1 ? 'wait' : 'own';
  }

  /** Resolves with the transport. */
  async connect(peer: PairAddress, options: ConnectOptions): Promise<string> {
    await Promise.all([this.#data.connect(peer.data, options), this.#control.connect(peer.control, options)]);
    return this.#data.transport;
  }

  beginReceive(slot: number): void {
    const id = Purpose.RECEIVE * TWO_32 + slot;
    this.context.submission.begin(Opcode.RECEIVE, this.#data.number, id, WorkRequestFlag.SIGNALED);
  }

  /** `wakes`: the completion at the neighbour is solicited. */
  beginSend(slot: number, block: number, wakes: boolean): void {
    const { submission } = this.context;
    const id = Purpose.SEND * TWO_32 + slot;
    const flags = wakes ? FOR_BOTH_SIDES : WorkRequestFlag.SIGNALED;
    submission.begin(Opcode.SEND_WITH_IMM, this.#data.number, id, flags);
    submission.immediate(block);
  }

  receiveAnnouncement(): void {
    const id = Purpose.ANNOUNCEMENT_RECEIVE * TWO_32;
    this.context.submission.begin(Opcode.RECEIVE, this.#control.number, id, WorkRequestFlag.SIGNALED);
  }

  announce(count: number, confirmAs: number): void {
    const { submission } = this.context;
    const flags = confirmAs === 0 ? WorkRequestFlag.SOLICITED : FOR_BOTH_SIDES;
    const id = Purpose.ANNOUNCEMENT * TWO_32 + confirmAs;
    submission.begin(Opcode.WRITE_WITH_IMM, this.#control.number, id, flags);
    submission.remote(0, NO_KEY);
    submission.immediate(count);
  }

  /**
   * A WRITE without bytes: the neighbour's device answers it, it does not use a receive there, and it does not need a
   * key. It is posted behind the announcements, so its completion shows theirs as well.
   */
  probe(): void {
    const { submission } = this.context;
    submission.begin(Opcode.WRITE, this.#control.number, Purpose.PROBE * TWO_32, WorkRequestFlag.SIGNALED);
    submission.remote(0, NO_KEY);
  }

  onCompletion(words: Uint32Array, base: number): void {
    const purpose = words[base + CompletionWord.ID_HIGH]!;
    const low = words[base + CompletionWord.ID_LOW]!;
    const status = words[base + CompletionWord.STATUS]!;
    const { listener, pair } = this;
    if (status !== Status.SUCCESS) listener.failed(pair, purpose, completionFailure(words, base));
    else if (purpose === Purpose.RECEIVE) {
      const immediate = words[base + CompletionWord.IMMEDIATE]!;
      listener.received(pair, low, immediate, words[base + CompletionWord.BYTES]!);
    } else if (purpose === Purpose.SEND) listener.sent(pair, low);
    else if (purpose === Purpose.ANNOUNCEMENT_RECEIVE)
      listener.announced(pair, words[base + CompletionWord.IMMEDIATE]!);
    else if (purpose === Purpose.PROBE) listener.probed(pair);
    else listener.announcementConfirmed(pair, low);
  }

  /** A barrier: once it returns, the neighbour does not write any more; posted requests complete as flushed. */
  modifyToError(): void {
    this.#data.modifyToError();
    this.#control.modifyToError();
  }

  async close(): Promise<void> {
    this.context.detach(this.#data);
    this.context.detach(this.#control);
    await Promise.all([this.#data.close(), this.#control.close()]);
  }
}
