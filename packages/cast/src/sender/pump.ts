import type { Group, RdmcNode } from '@rdmc/group';
import { MESSAGE_BUFFERS } from '../constants.js';
import type { FilledMessage } from '../reader/message-source.js';
import type { FillOrder, RunOrder } from '../reader/orders.js';
import type { TokenBucket } from './token-bucket.js';

/** One group that a pump sends to. */
export interface PumpRun {
  /** The first message that is sent to it. */
  readonly first: number;
  readonly order: RunOrder;
  /** Called before a message is sent, with the hash of its outline, where receivers check it. */
  readonly onOutline: (message: number, outline: string) => void;
}

export type Region = Awaited<ReturnType<RdmcNode['allocate']>>;

/** The buffers of a sender. @throws as `RdmcNode.allocate` */
export async function allocateRegions(node: RdmcNode, messageBytes: number): Promise<Region[]> {
  const regions: Region[] = [];
  for (let number = 0; number < MESSAGE_BUFFERS; number += 1) regions.push(await node.allocate(messageBytes));
  return regions;
}

/** Fills a buffer with a message of the stream, for a group that may still be forming. */
export interface MessageFiller {
  /** Before the first message of a run. */
  enterRun(order: RunOrder): Promise<void>;
  fill(order: FillOrder, forming: Promise<Group>): Promise<FilledMessage>;
}

/**
 * Moves the messages of one stream from the reader's thread to a group. It cycles a few buffers: the reader fills a buffer, the group
 * sends it, and the reader fills it again. Nothing here is done per block or byte.
 */
export class Pump {
  /** Messages whose send has completed, in any group. */
  sentMessages = 0;
  /** Messages of the whole stream, once its end has been read. */
  messages: number | undefined;
  /** Bytes of file contents up to the end of each message filled so far; entry 0 is 0. */
  readonly contentBytes: number[] = [0];
  /** Bytes of the files in the messages filled so far that receivers take from their older files. */
  keptBytes = 0;
  /** Sends that have not completed. */
  outstanding = 0;
  #next = 0;
  #stopped = false;

  constructor(
    private readonly reader: MessageFiller,
    private readonly bucket: TokenBucket,
    /** The buffers, as soon as the reader can fill them with messages of the stream. */
    private readonly regions: Promise<readonly Region[]>,
    private readonly messageBytes: number,
    /** Messages before this one will not be asked for again. */
    private readonly forgetBelow: () => number,
  ) {}

  get madeMessages(): number {
    return this.contentBytes.length - 1;
  }

  /** Bytes of file contents in the first messages, and in some bytes of the next one. */
  bytesIn(messages: number, partialBytes: number): number {
    if (messages >= this.contentBytes.length) return this.contentBytes.at(-1)!;
    const before = this.contentBytes[messages]!;
    const next = this.contentBytes[messages + 1];
    return next === undefined ? before : Math.min(next, before + partialBytes);
  }

  /**
   * Sends the messages from the first one of the run to the last one; the first ones are read while the group forms.
   * Rejects with the group's error, when no buffer is in use.
   */
  async run(forming: Promise<Group>, run: PumpRun): Promise<void> {
    this.#next = run.first;
    this.#stopped = false;
    const regions = await this.regions;
    await this.reader.enterRun(run.order);
    const lanes = await Promise.allSettled(regions.map((region) => this.#lane(forming, region, run)));
    for (const lane of lanes) if (lane.status === 'rejected') throw lane.reason;
  }

  /**
   * Fills and sends one buffer repeatedly. The reader answers in order and the bucket admits in order, so messages are
   * sent in order although several lanes wait.
   */
  async #lane(forming: Promise<Group>, region: Region, { onOutline }: PumpRun): Promise<void> {
    try {
      while (!this.#stopped) {
        const sequence = this.#next++;
        const order = { region: region.handle, byteLength: this.messageBytes, sequence };
        const filled = await this.reader.fill({ ...order, forgetBelow: this.forgetBelow() }, forming);
        if (filled.bytes === 0) return;
        this.contentBytes[sequence + 1] = filled.contentBytes;
        this.keptBytes = filled.keptBytes;
        if (filled.last) this.#end(sequence + 1);
        if (filled.outline !== undefined) onOutline(sequence, filled.outline);
        const group = await forming;
        await this.bucket.take(filled.bytes, group.signal);
        await this.#send(group, region, filled.bytes);
        this.sentMessages = Math.max(this.sentMessages, sequence + 1);
      }
    } catch (error) {
      this.#stopped = true;
      throw error;
    }
  }

  #end(messages: number): void {
    this.messages = messages;
    this.#stopped = true;
  }

  async #send(group: Group, region: Region, byteLength: number): Promise<void> {
    this.outstanding += 1;
    try {
      await group.send({ region, offset: 0, byteLength });
    } finally {
      this.outstanding -= 1;
    }
  }
}
