import {
  NONE,
  TraceKind,
  TraceProtocol,
  type TraceSink,
  type TraceSubject,
  traceSubject,
} from '@rdmc/dataplane/trace';
import type { ChannelSetup } from '../records.js';

/** A responder's link, as far as a trace sees it. */
interface TracedLink {
  readonly running: boolean;
  readonly finished: boolean;
}

/**
 * Records the slots of one end of a channel. A message is a slot's content, by its sequence number; the block is the slot. At a
 * requester, a send lasts until the responder's application has released the slot.
 */
export class ChannelTrace {
  readonly #subject: TraceSubject;
  readonly #peers: readonly number[];
  /** At a requester: the sequence number of each slot's content. At a responder: the next one of each peer. */
  readonly #sequences: Uint32Array;
  /** Slots that each responder has not released. */
  readonly #held: Uint32Array;
  #waitsFor = NONE;
  /** At a responder: the sequence number that it waits for. */
  #awaited = NONE;

  constructor(
    private readonly sink: TraceSink,
    { traced, slots, role }: ChannelSetup,
  ) {
    this.#subject = traceSubject(TraceProtocol.HIPOWER, traced.channel);
    this.#peers = traced.peers;
    this.#sequences = new Uint32Array(role === 'requester' ? slots : traced.peers.length);
    this.#held = new Uint32Array(traced.peers.length);
  }

  written(slot: number, sequence: number): void {
    this.#sequences[slot] = sequence;
    for (let peer = 0; peer < this.#peers.length; peer += 1) {
      this.#held[peer]! += 1;
      this.sink.put(this.#subject, TraceKind.SEND_STARTED, sequence >>> 0, slot, this.#peers[peer]!);
    }
  }

  /** A responder has released a slot. */
  released(slot: number, peer: number): void {
    this.#held[peer]! -= 1;
    const sequence = this.#sequences[slot]!;
    this.sink.put(this.#subject, TraceKind.SEND_FINISHED, sequence, slot, this.#peers[peer]!);
  }

  /** At a responder: in the order of the peer's sequence numbers. */
  delivered(slot: number, peer: number): void {
    const sequence = this.#sequences[peer]!;
    this.#sequences[peer] = sequence + 1;
    this.sink.put(this.#subject, TraceKind.RECEIVED, sequence, slot, this.#peers[peer]!);
  }

  /**
   * At a responder, after each turn that left nothing to read: it waits for a slot of the requester that has sent the fewest, of
   * those that have not ended. In which slot that will be is not known.
   */
  awaits(links: readonly TracedLink[]): void {
    let [least, member] = [NONE, NONE];
    for (const [peer, { running, finished }] of links.entries()) {
      const next = this.#sequences[peer]!;
      if (running && !finished && (member === NONE || next < least))
        [least, member] = [next, this.#peers[peer]!];
    }
    if (member === this.#waitsFor && least === this.#awaited) return;
    [this.#waitsFor, this.#awaited] = [member, least];
    const kind = member === NONE ? TraceKind.WAITS_FOR_NOTHING : TraceKind.WAITS_FOR_BLOCK;
    this.sink.put(this.#subject, kind, least, NONE, member);
  }

  /** At a requester, after each turn: whether its application waits for slots. Then it waits for who holds the most. */
  waits(isWaiting: boolean): void {
    let [most, member] = [0, NONE];
    for (let peer = 0; isWaiting && peer < this.#peers.length; peer += 1) {
      if (this.#held[peer]! > most) [most, member] = [this.#held[peer]!, this.#peers[peer]!];
    }
    if (member === this.#waitsFor) return;
    this.#waitsFor = member;
    const kind = member === NONE ? TraceKind.WAITS_FOR_NOTHING : TraceKind.WAITS_FOR_READY;
    this.sink.put(this.#subject, kind, NONE, NONE, member);
  }
}
