import { onAbort } from '@rdmc/common';
import type { Group, RdmcNode, ReceivedMessage } from '@rdmc/group';
import type { Algorithm } from '@rdmc/schedule';
import type { GroupFacts, Invitation } from '../control/frames.js';
import { protocolError } from '../errors.js';
import { MessageBuffers } from './message-buffers.js';
import type { WriterThread } from './writer-thread.js';

export interface StreamLimits extends Pick<Invitation, 'stallTimeoutMs' | 'connectTimeoutMs'> {
  readonly messageBytes: number;
}

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

  constructor(
    private readonly node: RdmcNode,
    private readonly invitation: StreamLimits,
    private readonly writer: WriterThread,
    private readonly onGroup: (group: Group) => void,
    private readonly onStoreError: (error: unknown) => void,
  ) {
    this.#buffers = new MessageBuffers(node, invitation.messageBytes);
  }

  /** Call once, before the first group. @throws VerbsError ERR_RDMC_OUT_OF_MEMORY */
  prepare(): Promise<void> {
    return this.#buffers.prepare();
  }

  /** Of all streams. */
  get messages(): number {
    return this.#messages;
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
    const group = await this.#join(facts, part);
    const forget = onAbort(part, () => void group.close({ signal: AbortSignal.abort() }).catch(() => {}));
    this.#group = group;
    this.onGroup(group);
    this.#groupBytes = 0;
    try {
      for await (const message of group) this.#take(nextMessage + message.number, message);
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

  #join({ id, members, algorithm, blockBytes, racks }: GroupFacts, signal: AbortSignal): Promise<Group> {
    return this.node.createGroup({
      ...{ id, members, blockBytes, signal },
      algorithm: algorithm as Algorithm,
      ...(racks && { racks }),
      incoming: this.#buffers.incoming,
      smallMessageBytes: 0,
      retryTimeoutMs: this.invitation.stallTimeoutMs,
      timeoutMs: this.invitation.connectTimeoutMs,
    });
  }

  #take(sequence: number, { region, byteLength }: ReceivedMessage): void {
    this.#buffers.arrived(region);
    this.#groupBytes += byteLength;
    // Sent again for survivors that lack it.
    if (sequence < this.#messages - this.#messagesBefore) {
      this.#buffers.give(region);
      return;
    }
    this.#messages += 1;
    this.#bytes += byteLength;
    this.writer
      .store(region.handle, byteLength, sequence)
      .then(() => this.#buffers.give(region), this.onStoreError);
  }
}
