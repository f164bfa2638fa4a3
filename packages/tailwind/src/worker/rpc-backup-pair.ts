import type { ProtocolContext } from '@rdmc/dataplane';
import { CompletionOpcode, CompletionWord, type MemoryRegion, Opcode, WorkRequestFlag } from '@rdmc/verbs';
import { RPC_WINDOW } from '../constants.js';
import { readU32, writeU32 } from '../format/layout.js';
import type { TailwindRecords } from '../records.js';
import { Pair } from './pair.js';
import {
  RPC_ANSWER_BYTES,
  RPC_BACKUP_BYTES,
  RPC_HEADER_BYTES,
  RPC_REQUEST_BYTES,
  RPC_SLOT_BYTES,
  RpcStatus,
} from './rpc-layout.js';

/** A buffer that the RPC scheme copies into. */
export interface AdmittedBuffer {
  readonly pair: number;
  readonly address: number;
  readonly byteLength: number;
}

/**
 * The backup's side of the RPC scheme: the processor receives every message, copies it into the buffer and answers.
 */
export class RpcBackupPair extends Pair {
  readonly #view: Uint8Array;
  readonly #answer = new Uint8Array(RPC_ANSWER_BYTES);

  private constructor(
    context: ProtocolContext<TailwindRecords>,
    number: number,
    private readonly region: MemoryRegion,
    private readonly buffers: ReadonlyMap<number, AdmittedBuffer>,
  ) {
    super(context, number);
    this.#view = region.view(0, RPC_BACKUP_BYTES);
    for (let slot = 0; slot < RPC_WINDOW; slot += 1) this.#receive(slot);
  }

  static async create(
    context: ProtocolContext<TailwindRecords>,
    number: number,
    buffers: ReadonlyMap<number, AdmittedBuffer>,
  ): Promise<RpcBackupPair> {
    const region = await context.protectionDomain.allocate(RPC_BACKUP_BYTES);
    return new RpcBackupPair(context, number, region, buffers);
  }

  protected succeeded(words: Uint32Array, base: number): void {
    if (words[base + CompletionWord.OPCODE] !== CompletionOpcode.RECEIVE) return;
    const slot = words[base + CompletionWord.ID_LOW]!;
    const status = this.#take(slot * RPC_SLOT_BYTES, words[base + CompletionWord.BYTES]!);
    if (this.broken !== undefined) return;
    this.#receive(slot);
    writeU32(this.#answer, 0, status);
    const { submission } = this.context;
    const flags = WorkRequestFlag.SIGNALED | WorkRequestFlag.SOLICITED;
    submission.begin(Opcode.SEND, this.queuePair.number, slot, flags);
    submission.inline(this.#answer);
    this.posted();
  }

  protected failed(): void {}

  protected override async release(): Promise<void> {
    await this.region.close();
  }

  #take(at: number, bytes: number): number {
    const buffer = this.buffers.get(readU32(this.#view, at));
    const offset = readU32(this.#view, at + 4);
    const byteLength = readU32(this.#view, at + 8);
    if (!buffer || buffer.pair !== this.number) return RpcStatus.NO_SUCH_BUFFER;
    const fits = offset <= buffer.byteLength && byteLength <= buffer.byteLength - offset;
    if (!fits || bytes !== RPC_HEADER_BYTES + byteLength) return RpcStatus.OUT_OF_BOUNDS;
    this.context.device.copy(
      buffer.address + offset,
      this.region.address + at + RPC_HEADER_BYTES,
      byteLength,
    );
    return RpcStatus.COPIED;
  }

  #receive(slot: number): void {
    const { submission } = this.context;
    submission.begin(Opcode.RECEIVE, this.queuePair.number, slot, WorkRequestFlag.SIGNALED);
    submission.sge(this.region.address + slot * RPC_SLOT_BYTES, RPC_REQUEST_BYTES, this.region.lkey);
    this.posted();
  }
}
