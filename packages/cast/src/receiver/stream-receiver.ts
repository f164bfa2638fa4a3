import { onAbort, SerialQueue } from '@rdmc/common';
import type { Group, RdmcNode, ReceivedMessage } from '@rdmc/group';
import type { Algorithm } from '@rdmc/schedule';
import type { GroupFacts, Invitation } from '../control/frames.js';
import { protocolError } from '../errors.js';
import { meshTimeoutMs } from '../mesh-timeout.js';
import { MessageBuffers } from './message-buffers.js';
import type { Outlines } from './outlines.js';
import type { WriterThread } from './writer-thread.js';

export interface StreamFacts
  extends Pick<
    Invitation,
    'stallTimeoutMs' | 'connectTimeoutMs' | 'trafficClass' | 'serviceLevel' | 'castId' | 'senderName'
  > {
  readonly messageBytes: number;
  /** The hashes of outlines that the sender sends; undefined where it sends none. */
  readonly outlines: Outlines | undefined;
}

type Region = ReceivedMessage['region'];

/** Receives the messages of a cast in one group after the other, and passes each message to the writer once. */
export class StreamReceiver {
  readonly #buffers: MessageBuffers;
  #group: Group | undefined;
  #groupBytes = 0;
  #stream = -1;
  /** Messages of the streams before this one. */
  #messagesBefore = 0;
  /** Complete messages of all streams, in order, and their bytes. */
  #messages = 0;
  #bytes = 0;
  /** Passes messages to the writer in order; some wait for the hash of their outline. */
  readonly #passing = new SerialQueue();

  constructor(
    private readonly node: RdmcNode,
    private readonly cast: StreamFacts,
    private readonly writer: WriterThread,
    private readonly onGroup: (group: Group) => void,
    private readonly onStoreError: (error: unknown) => void,
  ) {
    this.#buffers = new MessageBuffers(node, cast.messageBytes);
  }

  /** Call once; the first group need not wait for it. @throws VerbsError ERR_RDMC_OUT_OF_MEMORY */
  prepare(): Promise<void> {
    return this.#buffers.prepare();
  }

  /** Of all streams. */
  get messages(): number {
    return this.#messages;
  }

  /** Resolves when the writer has been given all messages that have arrived. */
  passed(): Promise<void> {
    return this.#passing.idle();
  }

  /** Bytes of incomplete messages. */
  get partialBytes(): number {
    return Math.max(0, (this.#group?.progress().bytesReceived ?? 0) - this.#groupBytes);
  }

  get bytes(): number {
    return this.#bytes + this.partialBytes;
  }

  /**
   * Takes part in a group until it ends. Its first message is the stream's `nextMessage`; messages that this receiver has
   * already are dropped. `part` ends it from this side.
   * @throws GroupError of the group, when no buffer is in use; CastError ERR_RDMC_CAST_PROTOCOL
   */
  async run(facts: GroupFacts, nextMessage: number, part: AbortSignal): Promise<void> {
    this.#enterStream(facts.stream);
    if (nextMessage > this.#messages - this.#messagesBefore)
      throw protocolError('the sender skipped messages');
    this.#enterRun(facts);
    const group = await this.#join(facts, part);
    const forget = onAbort(part, () => void group.close({ signal: AbortSignal.abort() }).catch(() => {}));
    this.#group = group;
    this.onGroup(group);
    this.#groupBytes = 0;
    try {
      for await (const message of group) this.#take(facts.id, nextMessage + message.number, message);
      await group.close();
    } finally {
      forget();
      this.#group = undefined;
      this.#buffers.reclaim();
    }
  }

  /** Groups of survivors continue a stream; else a stream begins when all messages of the previous one are here. */
  #enterStream(stream: number): void {
    if (stream < this.#stream) throw protocolError(`the sender went back to stream ${stream}`);
    if (stream > this.#stream) this.#messagesBefore = this.#messages;
    this.#stream = stream;
  }

  #enterRun({ id, secret }: GroupFacts): void {
    const { castId, senderName: sender, outlines } = this.cast;
    outlines?.enterRun(id);
    const seal =
      secret === undefined ? undefined : { castId, sender, run: id, secret: Buffer.from(secret, 'hex') };
    void this.#passing.run(() => void this.writer.enterRun({ seal }).catch(this.onStoreError));
  }

  #join(
    { id, members, algorithm, blockBytes, relay, racks }: GroupFacts,
    signal: AbortSignal,
  ): Promise<Group> {
    const { trafficClass, serviceLevel } = this.cast;
    return this.node.createGroup({
      ...{ id, members, blockBytes, trafficClass, serviceLevel, signal },
      algorithm: algorithm as Algorithm,
      ...(relay && { relay }),
      ...(racks && { racks }),
      incoming: this.#buffers.incoming,
      smallMessageBytes: 0,
      retryTimeoutMs: this.cast.stallTimeoutMs,
      timeoutMs: meshTimeoutMs(this.cast.connectTimeoutMs, members.length),
    });
  }

  #take(run: number, sequence: number, { region, byteLength }: ReceivedMessage): void {
    this.#buffers.arrived(region);
    this.#groupBytes += byteLength;
    // Sent again for survivors that lack it.
    if (sequence < this.#messages - this.#messagesBefore) {
      this.#buffers.give(region);
      return;
    }
    this.#messages += 1;
    this.#bytes += byteLength;
    void this.#passing.run(() => this.#pass(run, sequence, region, byteLength));
  }

  async #pass(run: number, sequence: number, region: Region, byteLength: number): Promise<void> {
    const outline = await this.cast.outlines?.take(run, sequence);
    this.writer
      .store({ region: region.handle, byteLength, sequence, outline })
      .then(() => this.#buffers.give(region), this.onStoreError);
  }
}
