import { type Algorithm, createSchedule } from '@rdmc/schedule';
import { Random } from '@rdmc/testing';
import { remoteKey } from '@rdmc/verbs';
import { HEADER_BYTES, HEADER_WORDS, OPEN_MESSAGES } from '../../src/constants.js';
import { type BlockRange, NO_KEY } from '../../src/worker/block-range.js';
import { createCounters } from '../../src/worker/counters.js';
import { FirstBufferPool, type FirstBuffers } from '../../src/worker/first-buffers.js';
import { GroupMachine } from '../../src/worker/machine.js';
import type { GroupPort, LoopBackPort, Relay, RelayPort, WriteTarget } from '../../src/worker/port.js';

export interface SimulatedMessage {
  readonly byteLength: number;
  readonly blockBytes: number;
}

export interface Simulation {
  readonly algorithm: Algorithm;
  readonly nodes: number;
  readonly racks?: readonly number[];
  readonly messages: readonly SimulatedMessage[];
  readonly maxBlockBytes: number;
  /** Bytes of a first-block buffer; default: those of the largest block. */
  readonly bufferBytes?: number | undefined;
  /** First-block buffers of a member that other groups leave to this one; default: as many as it may have messages open. */
  readonly buffers?: number | undefined;
  readonly receiveWindow: number;
  readonly sendWindow: number;
  /** Narrower windows, as `start` gives them. */
  readonly limits?: { readonly sends: number; readonly ready: number } | undefined;
  readonly readyTokens?: number | undefined;
  /** The devices relay. */
  readonly relaysAhead?: number | undefined;
  /** The processor cannot access the memory of messages: devices write first blocks there. */
  readonly loopBack?: boolean | undefined;
  readonly seed: number;
}

interface PostedReceive {
  readonly slot: number;
  readonly address: number;
  readonly byteLength: number;
}

interface PostedSend {
  readonly slot: number;
  readonly block: number;
  /** Where its header is. */
  readonly headerSlot: number;
  readonly wakes: boolean;
  /** The neighbour for whose blocks it waits, and for how many of them; undefined: it does not wait. */
  readonly after: { readonly from: number; readonly receives: number } | undefined;
  readonly address: number;
  readonly byteLength: number;
}

interface Announcement {
  readonly count: number;
  readonly confirmAs: number;
}

/** A deterministic sequence of integers below a bound. */
export function randomSequence(seed: number): (bound: number) => number {
  const random = new Random(seed);
  return (bound) => random.word() % bound;
}

/** The completion of an arrived block or announcement is solicited; those of this member's own requests are not. */
interface Completion {
  readonly solicited: boolean;
  readonly take: () => void;
}

const POISON = 0xee;
const ANY_RKEY = remoteKey(1);

/** First-block buffers for one group, from address 0 on. */
export function oneGroupsBuffers(bytes: number, buffers = OPEN_MESSAGES): FirstBuffers {
  const pool = new FirstBufferPool(bytes, buffers - 1);
  pool.add(0, NO_KEY, buffers);
  return pool;
}

/** One member with its own memory; the machine's port to a wire on which every step is one event. */
class Member implements GroupPort, RelayPort, LoopBackPort {
  readonly machine: GroupMachine;
  readonly counters = createCounters();
  readonly headers: Uint32Array;
  readonly neighbours: number[];
  readonly memory: Uint8Array;
  readonly receives: PostedReceive[][];
  readonly controlReceives: number[];
  readonly sends: PostedSend[][];
  /** Blocks that have come from each neighbour. */
  readonly came: number[];
  readonly announcements: Announcement[][];
  /** The content of its completion queue. */
  readonly completions: Completion[] = [];
  /** Whether it sleeps, so that only a solicited completion wakes it. */
  asleep = false;
  readonly wanted: number[] = [];
  /** Loop-back WRITEs that the device has not executed, in order. */
  readonly writes: (() => void)[] = [];
  readonly finishedMessages: number[] = [];
  /** The region of each message here. */
  readonly regions: number[] = [];
  outstandingReceives = 0;
  /** Receives announced to each neighbour; and over all, those that are not filled. */
  readonly announcedReceives: number[];
  outstandingAnnounced = 0;
  mostAnnounced = 0;
  mostReceives = 0;
  mostSends = 0;
  /** Relays that were posted before their blocks had come, over all. */
  relayedAhead = 0;
  turns = 0;
  mostOpen = 0;
  copies = 0;
  #free: number;

  constructor(
    readonly rank: number,
    readonly simulation: Simulation,
    private readonly onFinished: (member: Member, message: number) => void,
  ) {
    const { algorithm, nodes, racks, receiveWindow, sendWindow, readyTokens, maxBlockBytes, messages } =
      simulation;
    const { bufferBytes = maxBlockBytes, buffers = OPEN_MESSAGES } = simulation;
    const around = createSchedule({ algorithm, nodes, blocks: 1, racks }).neighbours(rank);
    this.neighbours = [...new Set([...around.sendsTo, ...around.receivesFrom])].sort((a, b) => a - b);
    const total = messages.reduce((sum, message) => sum + message.byteLength, 0);
    this.memory = new Uint8Array(OPEN_MESSAGES * maxBlockBytes + total + messages.length);
    this.#free = OPEN_MESSAGES * maxBlockBytes;
    const { relaysAhead = 0 } = simulation;
    this.headers = new Uint32Array((receiveWindow + relaysAhead + sendWindow) * HEADER_WORDS);
    this.came = this.neighbours.map(() => 0);
    this.receives = this.neighbours.map(() => []);
    this.sends = this.neighbours.map(() => []);
    this.announcements = this.neighbours.map(() => []);
    this.controlReceives = this.neighbours.map(() => 0);
    this.announcedReceives = this.neighbours.map(() => 0);
    this.machine = new GroupMachine(
      {
        topology: { algorithm, nodes, rank, racks },
        neighbours: this.neighbours,
        firstPair: around.firstFrom === undefined ? -1 : this.neighbours.indexOf(around.firstFrom),
        receiveWindow,
        sendWindow,
        readyTokens,
        relays: relaysAhead > 0 ? { ahead: relaysAhead, port: this } : undefined,
        loopBack: simulation.loopBack ? this : undefined,
        maxBlockBytes,
        headers: this.headers,
        counters: this.counters,
      },
      this,
    );
    this.machine.start(oneGroupsBuffers(bufferBytes, buffers));
    const { limits } = simulation;
    if (limits) this.machine.limit(limits.sends, limits.ready);
  }

  /** One turn of its worker: takes some completions, advances, and sleeps if there are no further ones. */
  turn(most: number): void {
    this.turns += 1;
    for (const { take } of this.completions.splice(0, most)) take();
    this.machine.advance();
    this.asleep = this.completions.length === 0 && this.machine.waitsForNeighbours;
  }

  get wakeful(): boolean {
    return (
      this.completions.length > 0 && (!this.asleep || this.completions.some(({ solicited }) => solicited))
    );
  }

  allocate(bytes: number): number {
    const address = this.#free;
    this.#free += bytes;
    return address;
  }

  postReceive(pair: number, slot: number, { address, byteLength }: BlockRange): void {
    this.receives[pair]!.push({ slot, address, byteLength });
    this.outstandingReceives += 1;
    this.mostReceives = Math.max(this.mostReceives, this.outstandingReceives);
  }

  postSend(
    pair: number,
    slot: number,
    block: number,
    { address, byteLength }: BlockRange,
    wakes: boolean,
  ): void {
    const { receiveWindow, relaysAhead = 0 } = this.simulation;
    const headerSlot = receiveWindow + relaysAhead + slot;
    this.sends[pair]!.push({ slot, block, headerSlot, wakes, after: undefined, address, byteLength });
    this.mostSends = Math.max(this.mostSends, this.machine.outstandingSends);
  }

  postRelay({ pair, from, receives, ...send }: Relay, { address, byteLength }: BlockRange): void {
    this.sends[pair]!.push({ ...send, after: { from, receives }, address, byteLength });
    this.mostSends = Math.max(this.mostSends, this.machine.outstandingSends);
    if (this.came[from]! < receives) this.relayedAhead += 1;
  }

  /** Whether the device may execute the first request of that queue. */
  runs(pair: number): boolean {
    const [send] = this.sends[pair]!;
    return send !== undefined && (!send.after || this.came[send.after.from]! >= send.after.receives);
  }

  receiveAnnouncement(pair: number): void {
    this.controlReceives[pair]! += 1;
  }

  announce(pair: number, count: number, confirmAs: number): void {
    this.outstandingAnnounced += count - this.announcedReceives[pair]!;
    this.announcedReceives[pair] = count;
    this.mostAnnounced = Math.max(this.mostAnnounced, this.outstandingAnnounced);
    this.announcements[pair]!.push({ count, confirmAs });
  }

  writeFirst(message: number, { address }: WriteTarget, { address: from, byteLength }: BlockRange): void {
    this.writes.push(() => {
      this.copies += 1;
      this.memory.copyWithin(address, from, from + byteLength);
      this.completions.push({ solicited: true, take: () => this.machine.written(message) });
    });
  }

  copy(to: number, from: number, byteLength: number): void {
    this.copies += 1;
    this.memory.copyWithin(to, from, from + byteLength);
  }

  incoming(message: number, byteLength: number): void {
    this.mostOpen = Math.max(this.mostOpen, this.machine.openMessages);
    if (this.simulation.messages[message]?.byteLength !== byteLength)
      throw new Error(`wrong size ${byteLength}`);
    this.wanted.push(message);
  }

  finished(message: number): void {
    this.finishedMessages.push(message);
    this.onFinished(this, message);
  }
}

export interface Outcome {
  readonly events: number;
  readonly finished: number[][];
  readonly corrupt: string[];
  readonly mostReceives: number;
  /** Receives of a member that were announced and not filled. */
  readonly mostAnnounced: number;
  readonly mostSends: number;
  /** Messages a receiver worked on at once. */
  readonly mostOpen: number;
  readonly copies: number[];
  /** Relays of each member that were posted before their blocks had come. */
  readonly relayedAhead: number[];
  /** Turns of each member's worker. */
  readonly turns: number[];
  /** The final counters of every member. */
  readonly counters: Float64Array[];
}

/**
 * Runs a group over a simulated wire until no event is left. Each step draws one of all possible
 * events: a block or an announcement crosses, a member takes some completions, an application gives memory.
 * A block or an announcement without a posted receive is an error (RNR retries are 0).
 */
export function simulate(simulation: Simulation): Outcome {
  const draw = randomSequence(simulation.seed);
  const content = simulation.messages.map(({ byteLength }, index) => {
    const byte = randomSequence(index + 1);
    return Uint8Array.from({ length: byteLength }, () => byte(256));
  });
  const corrupt: string[] = [];
  const members = Array.from({ length: simulation.nodes }, (_, rank) => new Member(rank, simulation, finish));

  function finish(member: Member, message: number): void {
    const region = member.memory.subarray(
      member.regions[message],
      member.regions[message]! + content[message]!.length,
    );
    if (Buffer.compare(region, content[message]!) !== 0)
      corrupt.push(`member ${member.rank}, message ${message}`);
    // The region belongs to the application again: a member that still reads from it sends the poison on.
    region.fill(POISON);
  }

  for (const member of members)
    member.neighbours.forEach((_, pair) => {
      member.machine.prepare(pair);
    });
  const root = members[0]!;
  simulation.messages.forEach(({ byteLength, blockBytes }, number) => {
    const address = root.allocate(byteLength);
    root.regions[number] = address;
    root.memory.set(content[number]!, address);
    root.machine.send(number, address, byteLength, NO_KEY, blockBytes);
  });
  for (const member of members) member.turn(0);

  let events = 0;
  for (;;) {
    const possible = members.flatMap((member) => eventsOf(member, members, draw));
    if (possible.length === 0) break;
    possible[draw(possible.length)]!();
    events += 1;
  }
  return {
    events,
    corrupt,
    finished: members.map((member) => member.finishedMessages),
    mostReceives: Math.max(...members.map((member) => member.mostReceives)),
    mostAnnounced: Math.max(...members.map((member) => member.mostAnnounced)),
    mostSends: Math.max(...members.map((member) => member.mostSends)),
    mostOpen: Math.max(...members.map((member) => member.mostOpen)),
    copies: members.map((member) => member.copies),
    relayedAhead: members.map((member) => member.relayedAhead),
    turns: members.map((member) => member.turns),
    counters: members.map((member) => member.counters),
  };
}

function eventsOf(member: Member, members: Member[], draw: (bound: number) => number): (() => void)[] {
  const events: (() => void)[] = [];
  member.neighbours.forEach((rank, pair) => {
    const peer = members[rank]!;
    if (member.runs(pair)) events.push(() => deliverBlock(member, pair, peer, draw));
    if (member.announcements[pair]!.length > 0) events.push(() => deliverAnnouncement(member, pair, peer));
  });
  if (member.wakeful) events.push(() => member.turn(1 + draw(4)));
  if (member.writes.length > 0) events.push(() => member.writes.shift()!());
  if (member.wanted.length > 0) events.push(() => giveMemory(member, draw(member.wanted.length)));
  return events;
}

function deliverBlock(from: Member, pair: number, to: Member, draw: (bound: number) => number): void {
  const { slot, block, headerSlot, wakes, after, address, byteLength } = from.sends[pair]!.shift()!;
  const back = to.neighbours.indexOf(from.rank);
  const receive = to.receives[back]!.shift();
  if (!receive) throw new Error(`RNR: ${from.rank} sent block ${block} to ${to.rank}, which was not ready`);
  if (byteLength > receive.byteLength)
    throw new Error(`block ${block} does not fit its receive at ${to.rank}`);
  const header = headerSlot * HEADER_WORDS;
  to.headers.set(from.headers.subarray(header, header + HEADER_WORDS), receive.slot * HEADER_WORDS);
  to.memory.set(from.memory.subarray(address, address + byteLength), receive.address);
  to.outstandingReceives -= 1;
  to.outstandingAnnounced -= 1;
  to.came[back]! += 1;
  arrive(to, () => to.machine.blockArrived(receive.slot, block, HEADER_BYTES + byteLength), wakes);
  const sent: Completion = { solicited: false, take: () => from.machine.sendCompleted(slot) };
  // The completion of a relay may be polled before that of its receive, because they are of two queue pairs.
  from.completions.splice(after ? draw(from.completions.length + 1) : from.completions.length, 0, sent);
}

function deliverAnnouncement(from: Member, pair: number, to: Member): void {
  const { count, confirmAs } = from.announcements[pair]!.shift()!;
  const back = to.neighbours.indexOf(from.rank);
  if (to.controlReceives[back] === 0) throw new Error(`RNR: an announcement to ${to.rank} found no receive`);
  to.controlReceives[back]! -= 1;
  arrive(to, () => to.machine.announced(back, count));
  if (confirmAs !== 0) complete(from, () => from.machine.announcementConfirmed(pair, confirmAs));
}

function arrive(at: Member, take: () => void, solicited = true): void {
  at.completions.push({ solicited, take });
}

function complete(at: Member, take: () => void): void {
  at.completions.push({ solicited: false, take });
}

function giveMemory(member: Member, which: number): void {
  const [message] = member.wanted.splice(which, 1);
  const address = member.allocate(member.simulation.messages[message!]!.byteLength);
  member.regions[message!] = address;
  member.machine.place(message!, address, NO_KEY, member.simulation.loopBack ? ANY_RKEY : undefined);
  member.turn(0);
}
