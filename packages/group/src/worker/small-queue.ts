import type { CompletionHandler, ProtocolContext } from '@rdmc/dataplane';
import {
  CompletionWord,
  type ConnectOptions,
  completionFailure,
  type LocalKey,
  Opcode,
  type QueuePair,
  type QueuePairAddress,
  type RemoteKey,
  remoteKey,
  Status,
  WorkRequestFlag,
} from '@rdmc/verbs';
import type { GroupRecords } from '../records.js';
import type { SmallHost } from './small-side.js';

/** The kind of a request: its id. */
const Purpose = { WRITE: 1, NOTICE: 2, RECEIVE: 3, PROBE: 4 } as const;
const RECEIVE = { id: Purpose.RECEIVE };
const FOR_BOTH_SIDES = WorkRequestFlag.SIGNALED | WorkRequestFlag.SOLICITED;
/** A request without bytes does not need a key. */
const NO_KEY = remoteKey(0);
/** The most probes that are outstanding. */
const PROBES = 1;

/** Handles the notices of a link. */
export interface SmallListener {
  /** The other side's notice: a batch, or an ack. */
  noticed(link: number, immediate: number): void;
  /** The oldest notice of this side that had not completed has completed, and everything before it. */
  sent(link: number): void;
}

/** The queue pair of the small-message path to one member. A notice is a WRITE with an immediate. */
export class SmallQueue implements CompletionHandler {
  readonly #queuePair: QueuePair;

  constructor(
    private readonly context: ProtocolContext<GroupRecords>,
    private readonly link: number,
    private readonly listener: SmallListener,
    private readonly host: Pick<SmallHost, 'smallFailed' | 'smallProbed'>,
    depths: { readonly requests: number; readonly notices: number },
  ) {
    const { protectionDomain, completionQueue } = context;
    this.#queuePair = protectionDomain.createQueuePair({
      sendQueue: completionQueue,
      receiveQueue: completionQueue,
      sendDepth: depths.requests + PROBES,
      receiveDepth: depths.notices,
    });
    context.attach(this.#queuePair, this);
    try {
      // Before the other side has the address. One call of the addon for all: a relay has a link to each of its children.
      this.#queuePair.postReceive(...Array.from({ length: depths.notices }, () => RECEIVE));
    } catch (error) {
      // Nobody else knows of the queue pair.
      this.close().catch(() => {});
      throw error;
    }
  }

  get address(): QueuePairAddress {
    return this.#queuePair.address;
  }

  async connect(address: QueuePairAddress, options: ConnectOptions): Promise<string> {
    await this.#queuePair.connect(address, options);
    return this.#queuePair.transport;
  }

  /** Begins a WRITE without a notice; the caller adds its memory. */
  write(address: number, key: RemoteKey): void {
    const { submission } = this.context;
    submission.begin(Opcode.WRITE, this.#queuePair.number, Purpose.WRITE, 0);
    submission.remote(address, key);
  }

  /** Begins a WRITE with a notice, signalled; the caller adds its memory, if it has some. */
  notice(immediate: number, address = 0, key: RemoteKey = NO_KEY): void {
    const { submission } = this.context;
    submission.begin(Opcode.WRITE_WITH_IMM, this.#queuePair.number, Purpose.NOTICE, FOR_BOTH_SIDES);
    submission.remote(address, key);
    submission.immediate(immediate);
  }

  /** Adds memory to the request that was begun last. */
  memory(address: number, byteLength: number, key: LocalKey): void {
    this.context.submission.sge(address, byteLength, key);
  }

  /** Posts a receive for one notice. */
  receive(): void {
    const { submission } = this.context;
    submission.begin(Opcode.RECEIVE, this.#queuePair.number, Purpose.RECEIVE, WorkRequestFlag.SIGNALED);
  }

  /** A WRITE without bytes, which the other device answers by itself. */
  probe(): void {
    const { submission } = this.context;
    submission.begin(Opcode.WRITE, this.#queuePair.number, Purpose.PROBE, WorkRequestFlag.SIGNALED);
    submission.remote(0, NO_KEY);
  }

  onCompletion(words: Uint32Array, base: number): void {
    const { host, listener, link } = this;
    const purpose = words[base + CompletionWord.ID_LOW]!;
    if (words[base + CompletionWord.STATUS] !== Status.SUCCESS) {
      host.smallFailed(link, purpose !== Purpose.RECEIVE, completionFailure(words, base));
    } else if (purpose === Purpose.RECEIVE) {
      listener.noticed(link, words[base + CompletionWord.IMMEDIATE]!);
    } else if (purpose === Purpose.NOTICE) listener.sent(link);
    else if (purpose === Purpose.PROBE) host.smallProbed(link);
  }

  /** A barrier: once it returns, the other side does not write any more. */
  modifyToError(): void {
    this.#queuePair.modifyToError();
  }

  async close(): Promise<void> {
    this.context.detach(this.#queuePair);
    await this.#queuePair.close();
  }
}
