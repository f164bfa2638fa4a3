import { Fifo } from '@rdmc/common';
import type { ProtocolContext } from '@rdmc/dataplane';
import {
  CompletionOpcode,
  CompletionWord,
  type LocalKey,
  type MemoryRegion,
  Opcode,
  WorkRequestFlag,
} from '@rdmc/verbs';
import { RPC_DATA_BYTES, RPC_WINDOW } from '../constants.js';
import type { TailwindRecords } from '../records.js';
import type { LocalMemory, TargetWriter, Written } from './channel.js';
import { Pair } from './pair.js';
import {
  RPC_ANSWER_BYTES,
  RPC_HEADER_BYTES,
  RPC_HEADER_SLOT_BYTES,
  RPC_PRIMARY_BYTES,
} from './rpc-layout.js';

interface Message {
  readonly target: Written;
  /** Sequence number that is complete with this message; 0 for all but the last part of an append. */
  readonly sequence: number;
  readonly address: number;
  readonly lkey: LocalKey;
  readonly offset: number;
  readonly byteLength: number;
}

/**
 * The scheme for comparison with one-sided writes (RAMCloud's, Tailwind section 4): data is sent in messages; the
 * backup's processor copies it and answers. The window is bounded by the receives that the backup has posted.
 */
export class RpcPrimaryPair extends Pair implements TargetWriter {
  readonly #words: Uint32Array;
  readonly #unanswered = new Fifo<Message>();
  readonly #waiting = new Fifo<Message>();
  /** Header slots that the device has not sent yet, and that cannot be used again until then. */
  #unsent = 0;
  #next = 0;

  private constructor(
    context: ProtocolContext<TailwindRecords>,
    number: number,
    private readonly region: MemoryRegion,
  ) {
    super(context, number);
    const view = region.view(0, RPC_PRIMARY_BYTES);
    this.#words = new Uint32Array(view.buffer, view.byteOffset, RPC_PRIMARY_BYTES / 4);
    for (let slot = 0; slot < RPC_WINDOW; slot += 1) this.#receive(slot);
  }

  static async create(context: ProtocolContext<TailwindRecords>, number: number): Promise<RpcPrimaryPair> {
    return new RpcPrimaryPair(context, number, await context.protectionDomain.allocate(RPC_PRIMARY_BYTES));
  }

  write(target: Written, sequence: number, from: LocalMemory, offset: number, byteLength: number): void {
    if (this.broken !== undefined) {
      target.fail(this.broken);
      return;
    }
    for (let done = 0; done < byteLength; ) {
      const part = Math.min(RPC_DATA_BYTES, byteLength - done);
      const last = done + part === byteLength;
      this.#waiting.push({
        target,
        sequence: last ? sequence : 0,
        address: from.address + offset + done,
        lkey: from.lkey,
        offset: offset + done,
        byteLength: part,
      });
      done += part;
    }
    this.#advance();
  }

  protected succeeded(words: Uint32Array, base: number): void {
    if (words[base + CompletionWord.OPCODE] === CompletionOpcode.RECEIVE) {
      this.#answered(words[base + CompletionWord.ID_LOW]!);
    } else {
      this.#unsent -= 1;
    }
    this.#advance();
  }

  protected failed(reason: string): void {
    for (const queue of [this.#unanswered, this.#waiting]) {
      for (let next = queue.shift(); next; next = queue.shift()) next.target.fail(reason);
    }
  }

  protected override async release(): Promise<void> {
    await this.region.close();
  }

  #advance(): void {
    while (this.broken === undefined && this.#unanswered.length < RPC_WINDOW && this.#unsent < RPC_WINDOW) {
      const message = this.#waiting.shift();
      if (!message) return;
      this.#send(message);
    }
  }

  #send(message: Message): void {
    const slot = this.#next % RPC_WINDOW;
    this.#next += 1;
    const at = (slot * RPC_HEADER_SLOT_BYTES) / 4;
    this.#words[at] = message.target.setup.key;
    this.#words[at + 1] = message.offset;
    this.#words[at + 2] = message.byteLength;
    const { submission } = this.context;
    const flags = WorkRequestFlag.SIGNALED | WorkRequestFlag.SOLICITED;
    submission.begin(Opcode.SEND, this.queuePair.number, slot, flags);
    submission.sge(this.region.address + slot * RPC_HEADER_SLOT_BYTES, RPC_HEADER_BYTES, this.region.lkey);
    submission.sge(message.address, message.byteLength, message.lkey);
    this.posted();
    this.#unsent += 1;
    this.#unanswered.push(message);
  }

  #answered(slot: number): void {
    const status = this.#words[((RPC_WINDOW + slot) * RPC_HEADER_SLOT_BYTES) / 4]!;
    this.#receive(slot);
    const message = this.#unanswered.shift();
    if (status !== 0) this.break(`its backup refused an append with status ${status}`);
    else if (message && message.sequence > 0) message.target.complete(message.sequence);
  }

  #receive(slot: number): void {
    if (this.broken !== undefined) return;
    const { submission } = this.context;
    submission.begin(Opcode.RECEIVE, this.queuePair.number, slot, WorkRequestFlag.SIGNALED);
    const address = this.region.address + (RPC_WINDOW + slot) * RPC_HEADER_SLOT_BYTES;
    submission.sge(address, RPC_ANSWER_BYTES, this.region.lkey);
    this.posted();
  }
}
