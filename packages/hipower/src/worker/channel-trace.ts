import {
  NONE,
  TraceKind,
  TraceProtocol,
  type TraceSink,
  type TraceSubject,
  traceSubject,
} from '@rdmc/dataplane/trace';
import type { ChannelSetup } from '../records.js';

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
