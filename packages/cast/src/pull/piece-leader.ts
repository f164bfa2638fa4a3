import type { RdmcNode } from '@rdmc/group';
import { BlockSet } from '../delta/block-set.js';
import { allocateRegions, Pump, type Region } from '../sender/pump.js';
import { TokenBucket } from '../sender/token-bucket.js';
import type { ServerFrameOf } from './frames.js';
import { sendInGroup } from './group-sender.js';
import { PieceFiller } from './piece-filler.js';
import type { Offer } from './pull-session.js';
import type { PullWriterThread } from './pull-writer-thread.js';

export interface LeaderParts {
  readonly node: RdmcNode;
  readonly mesh: ServerFrameOf<'mesh'>;
  readonly offer: Offer;
  readonly writer: PullWriterThread;
  /** Aborted when this fetcher does not serve on any more. */
  readonly signal: AbortSignal;
}

/** A fetcher that has everything leads runs: it sends pieces to other fetchers, as the server tells it. */
export class PieceLeader {
  #set: BlockSet;
  #filler: { readonly run: number; readonly filler: PieceFiller } | undefined;
  #regions: Promise<Region[]> | undefined;

  constructor(private readonly parts: LeaderParts) {
    this.#set = new BlockSet(parts.offer.pieces);
  }

  /** What the next run sends; a part of a set. */
  pieces({ first, data }: ServerFrameOf<'pieces'>): void {
    const bytes = Buffer.from(data, 'base64');
    this.#set.bits.set(bytes.subarray(0, Math.max(0, this.#set.bits.length - first / 8)), first / 8);
  }

  /** The run ends at the next boundary of messages. */
  stop({ run }: ServerFrameOf<'stop'>): void {
    if (this.#filler?.run === run) this.#filler.filler.stop();
  }

  /** The run in progress ends at the next boundary of messages. */
  finish(): void {
    this.#filler?.filler.stop();
  }

  /** Leads a run. Rejects with the error of its group. */
  async lead({ run, members, blockBytes, secret }: ServerFrameOf<'lead'>): Promise<void> {
    const { node, mesh, offer, writer, signal } = this.parts;
    const { castId, serverName: sender, stallTimeoutMs } = offer;
    const seal =
      secret === undefined ? undefined : { castId, sender, run, secret: Buffer.from(secret, 'hex') };
    const pieces = numbersOf(this.#set);
    this.#set = new BlockSet(offer.pieces);
    await writer.beginLead({ seal, pieces });
    const costs = new Float64Array(offer.pieces);
    const filler = new PieceFiller(writer, pieces, costs, () => {});
    this.#filler = { run, filler };
    this.#regions ??= allocateRegions(node, mesh.messageBytes);
    const pump = new Pump(filler, new TokenBucket(undefined), this.#regions, mesh.messageBytes, () => 0);
    const { connectTimeoutMs } = mesh;
    const group = { node, id: run, members, blockBytes, connectTimeoutMs, stallTimeoutMs };
    try {
      await sendInGroup(pump, { ...group, signal });
    } finally {
      this.#filler = undefined;
    }
  }
}

function numbersOf(set: BlockSet): Uint32Array<ArrayBuffer> {
  const numbers = new Uint32Array(set.count);
  let at = 0;
  for (let piece = 0; piece < set.blocks; piece += 1) if (set.has(piece)) numbers[at++] = piece;
  return numbers;
}
