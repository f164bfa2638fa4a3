import { CastTree } from './pull/cast-tree.js';
import { Origin, type OriginFacts } from './pull/origin.js';
import { PiecePacker } from './pull/piece-packer.js';
import type {
  FilesOfPieces,
  FilledPieces,
  FillPiecesOrder,
  PullRunOrder,
  PullSurveyOrder,
} from './pull/reader-orders.js';
import { ServedTree } from './pull/served-tree.js';
import { answerCalls } from './worker-calls.js';
import { WorkerRegions } from './worker-regions.js';

/** The thread that hashes, reads and encrypts what is served under one name, or what a gathering cast sends. */

const origin = new Origin();
let regions: WorkerRegions | undefined;
/** Of the current run. */
let packer: PiecePacker | undefined;
/** Entries that have changed since they were hashed: their pieces are left out. */
let changed = new Set<number>();

const calls = {
  survey(order: PullSurveyOrder): OriginFacts {
    changed = new Set();
    const isServed = 'directory' in order;
    return origin.survey(
      isServed ? ServedTree.open(order.directory, Buffer.from(order.name)) : new CastTree(order),
    );
  },

  /** Of these pieces: the files that they are of, and the bytes of these. */
  filesOf(pieces: Uint32Array): FilesOfPieces {
    const files = new Map<number, number>();
    for (const piece of pieces) {
      const { entry, size } = origin.map.fileOf(piece);
      files.set(entry, size);
    }
    return { files: files.size, bytes: [...files.values()].reduce((sum, size) => sum + size, 0) };
  },

  hashes(first: number): string {
    return origin.hashes(first).toString('base64');
  },

  attach({ device }: { readonly device: number }): void {
    regions = new WorkerRegions(device);
  },

  beginRun(order: PullRunOrder): void {
    packer = new PiecePacker(origin, order, changed);
  },

  /** Fills a message with the next pieces of the run; 0 bytes at its end. */
  fill({ region, byteLength, sequence }: FillPiecesOrder): FilledPieces {
    return packer!.fill(regions!.buffer(region, byteLength), sequence);
  },

  /** Nothing is read until the next survey. */
  rest(_: undefined): void {
    origin.close();
  },
};

export type PullReaderCalls = typeof calls;

answerCalls(calls);
