import { workerData } from 'node:worker_threads';
import { codeOf, givenUp } from './errors.js';
import type { LeadSource } from './pull/lead-source.js';
import { PiecePacker } from './pull/piece-packer.js';
import { PieceStore } from './pull/piece-store.js';
import type { FilledPieces, FillPiecesOrder, PullRunOrder } from './pull/reader-orders.js';
import type {
  BeginPullOrder,
  OpenPullOrder,
  PiecesHere,
  PulledReport,
  StoredPieces,
  StorePiecesOrder,
} from './pull/writer-orders.js';
import { MessageOpener } from './seal/message-opener.js';
import type { RunSeal } from './seal/run-key.js';
import { answerCalls } from './worker-calls.js';
import { WorkerRegions } from './worker-regions.js';
import { systemSync } from './writer/sync-port.js';
import { WriterSigns } from './writer/writer-signs.js';

/** The thread of a fetcher that decrypts, checks and stores pieces. `workerData.signs`: see `WriterSigns`. */

const { signs } = workerData as { readonly signs: Int32Array };
let store: PieceStore | undefined;
let regions: WorkerRegions | undefined;
let opener: MessageOpener | undefined;
/** Where this end serves on: its files, and the run that it leads. */
let source: LeadSource | undefined;
let packer: PiecePacker | undefined;
/** Entries that cannot be read any more. */
const gone = new Set<number>();

function active(): void {
  Atomics.add(signs, WriterSigns.ACTIVITY, 1);
}

function step(): void {
  active();
  if (Atomics.load(signs, WriterSigns.GIVEN_UP) !== 0) throw givenUp();
}

const calls = {
  open({ fsync, ...order }: OpenPullOrder): void {
    store = new PieceStore({ ...order, sync: fsync ? systemSync : undefined, step, active });
  },

  entries({
    first,
    count,
    data,
  }: {
    readonly first: number;
    readonly count: number;
    readonly data: string;
  }): void {
    step();
    store!.entries(first, count, data);
  },

  hashes({ first, data }: { readonly first: number; readonly data: string }): void {
    step();
    store!.hashes(first, data);
  },

  begin({ root, compare }: BeginPullOrder): Promise<PiecesHere> {
    step();
    return store!.begin(root, compare);
  },

  attach({ device }: { readonly device: number }): void {
    regions = new WorkerRegions(device);
  },

  enterRun({ seal }: { readonly seal: RunSeal | undefined }): void {
    opener = seal && new MessageOpener(seal, step);
  },

  /** Stores what is in a message. One that was altered is not an error here: the server sends its pieces again. */
  async store({ region, byteLength, sequence }: StorePiecesOrder): Promise<StoredPieces> {
    step();
    const arrived = regions!.buffer(region, byteLength);
    let isWhole = false;
    try {
      isWhole = await store!.store(opener ? opener.open(arrived, sequence) : arrived);
    } catch (error) {
      const code = codeOf(error);
      if (code !== 'ERR_RDMC_DECRYPT_FAILED' && code !== 'ERR_RDMC_CAST_PROTOCOL') throw error;
    }
    return { isWhole, receivedBytes: store!.receivedBytes };
  },

  withdraw({
    entries,
    code,
    message,
  }: {
    readonly entries: readonly number[];
    readonly code: string;
    readonly message: string;
  }): void {
    store!.withdraw(entries, code, message);
  },

  finish(_: undefined): Promise<PulledReport> {
    step();
    return store!.finish();
  },

  /** Bits of the pieces that are here: see `BlockSet`. */
  pieces(_: undefined): Uint8Array {
    return store!.pieces;
  },

  /** Everything is here, and this end sends pieces to others. */
  beginLead(order: PullRunOrder): void {
    step();
    source ??= store!.leadSource();
    packer = new PiecePacker(source, order, gone);
  },

  /** Fills a message with the next pieces of the run; 0 bytes at its end. */
  fill({ region, byteLength, sequence }: FillPiecesOrder): FilledPieces {
    step();
    return packer!.fill(regions!.buffer(region, byteLength), sequence);
  },

  async close(_: undefined): Promise<void> {
    source?.close();
    await store?.close();
  },
};

export type PullWriterCalls = typeof calls;

answerCalls(calls);
