import { CastTree } from './pull/cast-tree.js';
import { Origin, type OriginFacts } from './pull/origin.js';
import { NUMBER_BYTES } from './pull/piece-message.js';
import type {
  ChangedFile,
  FilesOfPieces,
  FilledPieces,
  FillPiecesOrder,
  PullRunOrder,
  PullSurveyOrder,
} from './pull/reader-orders.js';
import { ServedTree } from './pull/served-tree.js';
import { payloadRoom } from './seal/layout.js';
import { MessageSealer } from './seal/message-sealer.js';
import { answerCalls } from './worker-calls.js';
import { WorkerRegions } from './worker-regions.js';

/** The thread that hashes, reads and encrypts what is served under one name, or what a gathering cast sends. */

const origin = new Origin();
let regions: WorkerRegions | undefined;
/** Pieces of the current run, and how many of them were filled. */
let pieces = new Uint32Array(0);
let next = 0;
let sealer: MessageSealer | undefined;
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
    pieces = order.pieces;
    next = 0;
    sealer = order.seal && new MessageSealer(order.seal);
  },

  /** Fills a message with the next pieces of the run; 0 bytes at its end. */
  fill({ region, byteLength, sequence }: FillPiecesOrder): FilledPieces {
    const target = regions!.buffer(region, byteLength);
    const room = sealer ? payloadRoom(byteLength) : byteLength;
    const sent: number[] = [];
    const found: ChangedFile[] = [];
    let at = 0;
    for (; next < pieces.length; next += 1) {
      const piece = pieces[next]!;
      const { map } = origin;
      const { entry } = map.fileOf(piece);
      if (changed.has(entry)) continue;
      const end = at + NUMBER_BYTES + map.bytesOf(piece);
      if (end > room) break;
      const change = origin.read(piece, target.subarray(at + NUMBER_BYTES, end));
      if (change) {
        changed.add(entry);
        found.push(change);
        continue;
      }
      target.writeUInt32LE(piece, at);
      sent.push(piece);
      at = end;
    }
    const bytes = at > 0 && sealer ? sealer.seal(target, at, sequence, false) : at;
    return { bytes, pieces: sent, position: next, changed: found };
  },

  /** Nothing is read until the next survey. */
  rest(_: undefined): void {
    origin.close();
  },
};

export type PullReaderCalls = typeof calls;

answerCalls(calls);
