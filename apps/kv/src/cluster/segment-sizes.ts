import type { MeshPeer } from '@rdmc/mesh';
import { KvError } from '../errors.js';
import { type EnlistMessage, memberName } from './messages.js';

const MIB = 1024 * 1024;

interface Peers {
  readonly peers: ReadonlyMap<number, Pick<MeshPeer, 'state' | 'incarnation'>>;
}

/**
 * The sizes of the segments of the servers that are here. A new server must have the same as the others: with smaller segments it could
 * not get all their entries, and with larger ones their buffers are too small to back it up. Only servers that are connected count, so
 * that a cluster whose servers were all stopped may be started with another size.
 */
export class SegmentSizes {
  readonly #told = new Map<number, { readonly segmentBytes: number; readonly incarnation: number }>();

  constructor(private readonly mesh: Peers) {}

  /** A server that runs is not refused: it may have keys. @throws KvError ERR_RDMC_KV_SEGMENT_SIZE */
  admit(server: number, { segmentBytes, isRunning }: EnlistMessage): void {
    const others = this.#largestBut(server);
    const isKnown = segmentBytes > 0 && others > 0;
    if (isKnown && !isRunning && segmentBytes !== others) throw otherSize(server, segmentBytes, others);
    const incarnation = this.mesh.peers.get(server)?.incarnation ?? 0;
    this.#told.set(server, { segmentBytes, incarnation });
  }

  /** Whether another server that is here has told this size. */
  isOfAnother(server: number, segmentBytes: number): boolean {
    return this.#othersOf(server).includes(segmentBytes);
  }

  /** Where the former release has let servers differ, those with smaller segments are to change. 0: not known */
  #largestBut(server: number): number {
    return Math.max(0, ...this.#othersOf(server));
  }

  #othersOf(server: number): number[] {
    const others = [...this.#told].filter(
      ([id, { incarnation }]) => id !== server && this.#isHere(id, incarnation),
    );
    return others.map(([, { segmentBytes }]) => segmentBytes);
  }

  /** The process that told it: the next one of the same server may have another size. */
  #isHere(id: number, incarnation: number): boolean {
    const peer = this.mesh.peers.get(id);
    return peer?.state === 'connected' && peer.incarnation === incarnation;
  }
}

function otherSize(server: number, own: number, others: number): KvError {
  const [size, needed] = [own / MIB, others / MIB];
  return new KvError(
    'ERR_RDMC_KV_SEGMENT_SIZE',
    `${memberName(server)} has segments of ${size} MiB, and the cluster has ${needed} MiB: start it with --segment-mib ${needed}. ` +
      'To change the size, stop all servers, and start them with the same --segment-mib',
  );
}
