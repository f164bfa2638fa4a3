import {
  type BlockRange,
  createCounters,
  FirstBufferPool,
  type FirstBuffers,
  GroupMachine,
  type GroupPort,
  GroupTrace,
  HEADER_BYTES,
  HEADER_WORDS,
  NO_KEY,
  OPEN_MESSAGES,
  type Relay,
  type RelayPort,
} from '@rdmc/group/machine';
import { createSchedule } from '@rdmc/schedule';
import { BlockSend, type BlockSender, type BlockToPair } from './block-send.js';
import { after, type Clock } from './clock.js';
import type { HostCosts, NicCosts } from './cluster.js';
import { lengthOf, type SimulatedGroup } from './group.js';
import type { HostedMember, TurnWork } from './host.js';
import type { LiveTrace } from './live-trace.js';
import type { Executor } from './offload.js';
import { type PostedReceive, ReceiveQueue } from './posted.js';
import type { SendQueue } from './send-queue.js';
import type { TraceRecord } from './trace.js';
import { type TracedGroup, Tracer } from './tracer.js';
import { type Windows, windowsIn } from './windows.js';

/** The group of a member, and what it shares with the others. */
export interface MemberContext {
  readonly clock: Clock;
  readonly nic: NicCosts;
  readonly hostCosts: HostCosts;
  readonly windows: Windows;
  /** Whether the NICs run the protocol. */
  readonly offload: boolean;
  /** Whether the threads or their NICs relay blocks. */
  readonly relay: 'worker' | 'device';
  readonly group: SimulatedGroup;
  /** The group as its tracers see it; `undefined` if there is no trace. */
  readonly traced: TracedGroup | undefined;
  /** The number of the group, and where its machines record. */
  readonly number: number;
  readonly live: LiveTrace | undefined;
  readonly members: readonly Member[];
  /** A queue pair between two nodes. */
  sendQueue(from: number, to: number): SendQueue;
  /** Time that a test adds to a send. */
  delayOf(from: number, to: number, block: number): number;
  /** A member has the message, and has relayed its part. */
  finished(message: number): void;
}

/** A receive that the machine wrote in this turn. */
interface WrittenReceive extends PostedReceive {
  readonly pair: number;
}

interface WrittenAnnouncement {
  readonly pair: number;
  readonly count: number;
  readonly confirmAs: number;
}

/** First-block buffers of the largest block, as in the RDMC paper: a first block is copied from there, whatever its size. */
function buffersOf(blockBytes: number): FirstBuffers {
  const pool = new FirstBufferPool(blockBytes, OPEN_MESSAGES - 1);
  pool.add(0, NO_KEY, OPEN_MESSAGES);
  return pool;
}

/** One member of a group: the shipped state machine on a port whose requests take simulated time. */
export class Member implements GroupPort, RelayPort, HostedMember, BlockSender {
  readonly machine: GroupMachine;
  readonly node: number;
  readonly tracer: Tracer | undefined;
  /** Ranks of the neighbours. */
  readonly neighbours: readonly number[];
  readonly receives: ReceiveQueue[];
  readonly sendQueues: SendQueue[];
  /** Blocks that have arrived. */
  blocks = 0;
  /** When each message was complete here. */
  readonly finishedAt: number[] = [];
  readonly #headers: Uint32Array;
  /** The slots of receives, in front of those of sends. */
  readonly #receiveSlots: number;
  /** By neighbour: its blocks that have come and whose relays the NIC has released. */
  readonly #came: number[];
  #sendWindow: number;
  #sends: BlockSend[] = [];
  #receives: WrittenReceive[] = [];
  #announcements: WrittenAnnouncement[] = [];
  #finished: number[] = [];
  #work: TurnWork = { sends: 0, receives: 0, announcements: 0, copiedBytes: 0 };
  /** Of this turn so far: bytes that completions and commands copied before the machine advances. */
  #copied = 0;
  /** The trace records of the receives in use, by slot; and the target of the sends in use. */
  readonly #recordOf: (TraceRecord | undefined)[] = [];
  readonly #targetOf: number[] = [];
  readonly #pairs: (number | undefined)[] = [];

  constructor(
    private readonly run: MemberContext,
    readonly rank: number,
    private readonly executor: Executor,
  ) {
    const { group } = run;
    const { algorithm, racks } = group;
    const nodes = group.members.length;
    const windows = windowsIn(run.windows, algorithm, nodes);
    this.#sendWindow = windows.send;
    this.node = group.members[rank]!;
    const around = createSchedule({ algorithm, nodes, blocks: 1, racks }).neighbours(rank);
    this.neighbours = [...new Set([...around.sendsTo, ...around.receivesFrom])].sort((a, b) => a - b);
    this.receives = this.neighbours.map(() => new ReceiveQueue());
    this.sendQueues = this.neighbours.map((peer) => run.sendQueue(this.node, group.members[peer]!));
    const relays = run.relay === 'device' ? { ahead: windows.receive, port: this } : undefined;
    this.#receiveSlots = windows.receive + (relays?.ahead ?? 0);
    this.#headers = new Uint32Array((this.#receiveSlots + windows.send) * HEADER_WORDS);
    this.#came = this.neighbours.map(() => 0);
    this.tracer = run.traced && new Tracer(run.traced, rank, this.neighbours.length);
    const peers = this.neighbours.map((peer) => group.members[peer]!);
    const trace = run.live && new GroupTrace(run.live.of(this.node), run.number, peers);
    this.machine = new GroupMachine(
      {
        topology: { algorithm, nodes, rank, racks },
        neighbours: this.neighbours,
        firstPair: around.firstFrom === undefined ? -1 : this.neighbours.indexOf(around.firstFrom),
        receiveWindow: windows.receive,
        sendWindow: windows.send,
        readyTokens: windows.ready,
        relays,
        maxBlockBytes: group.blockBytes,
        headers: this.#headers,
        counters: createCounters(),
        trace,
      },
      this,
    );
    this.machine.start(buffersOf(group.blockBytes));
    this.neighbours.forEach((_, pair) => {
      this.machine.prepare(pair);
    });
  }

  /** At the root: sends the next message. */
  send(message: number): void {
    const { blockBytes } = this.run.group;
    this.#command(this.run.hostCosts.sendSetUp, () => {
      this.tracer?.called(this.run.clock.now);
      const byteLength = lengthOf(this.run.group, message);
      this.machine.send(message, OPEN_MESSAGES * blockBytes, byteLength, NO_KEY, blockBytes);
    });
  }

  /** The first turn, in which the receives for the first message are posted. */
  open(): void {
    this.#command(0, () => {});
  }

  get waitsForNeighbours(): boolean {
    return this.machine.waitsForNeighbours;
  }

  advance(work: TurnWork): void {
    this.#work = work;
    work.copiedBytes += this.#copied;
    this.#copied = 0;
    this.machine.advance();
  }

  ringDoorbell(): void {
    if (this.#receives.length > 0) this.#giveReceives();
    if (this.#sends.length > 0) this.#giveSends();
    if (this.#announcements.length > 0) this.#giveAnnouncements();
    if (this.#finished.length > 0) this.#reportFinished();
  }

  postReceive(pair: number, slot: number, { byteLength }: BlockRange): void {
    this.#work.receives += 1;
    this.#recordOf[slot] = this.tracer?.receive();
    this.#receives.push({ pair, slot, byteLength });
  }

  postSend(pair: number, slot: number, block: number, { byteLength }: BlockRange, wakes: boolean): void {
    const headerSlot = this.#receiveSlots + slot;
    this.#push({ pair, slot, block, bytes: byteLength, wakes, headerSlot, after: undefined });
  }

  postRelay(
    { pair, slot, block, wakes, headerSlot, from, receives }: Relay,
    { byteLength }: BlockRange,
  ): void {
    this.#push({ pair, slot, block, bytes: byteLength, wakes, headerSlot, after: { from, receives } });
  }

  isReleased({ after: condition }: BlockToPair): boolean {
    return condition === undefined || this.#came[condition.from]! >= condition.receives;
  }

  receiveAnnouncement(): void {
    // The machine posts one for each announcement that can be outstanding, so the NIC need not count them.
  }

  announce(pair: number, count: number, confirmAs: number): void {
    this.#work.announcements += 1;
    this.#announcements.push({ pair, count, confirmAs });
  }

  copy(_to: number, _from: number, byteLength: number): void {
    this.#copied += byteLength;
  }

  incoming(message: number): void {
    const { hostCosts, group, offload } = this.run;
    // An offloaded group has no thread that copies, so the memory is ready when the copy is done.
    const first = offload ? Math.min(group.blockBytes, lengthOf(group, message)) : 0;
    const copy = (hostCosts.copyMiB * first) / 2 ** 20;
    this.#command(hostCosts.incomingSetUp + copy, () => {
      this.machine.place(message, OPEN_MESSAGES * group.blockBytes, NO_KEY);
    });
  }

  finished(message: number): void {
    this.#finished.push(message);
  }

  /** A block of `from`, the neighbour `pair`, is in memory. */
  blockCame(pair: number, from: Member, { block, bytes, wakes, headerSlot }: BlockToPair): void {
    const receive = this.receives[pair]!.take();
    if (receive === undefined || bytes > receive.byteLength) {
      throw new Error(`Member ${from.rank} sent block ${block} to ${this.rank}, which was not ready for it`);
    }
    this.blocks += 1;
    const { slot } = receive;
    const source = headerSlot * HEADER_WORDS;
    for (let word = 0; word < HEADER_WORDS; word += 1) {
      this.#headers[slot * HEADER_WORDS + word] = from.#headers[source + word]!;
    }
    const record = this.#recordOf[slot];
    if (record) record.received = this.run.clock.now;
    if (this.run.relay === 'device') this.#release(pair);
    this.#complete(wakes, () => {
      if (record) this.tracer!.arrived(record, this.run.clock.now);
      this.machine.blockArrived(slot, block, HEADER_BYTES + bytes);
    });
  }

  get now(): number {
    return this.run.clock.now;
  }

  delivered(block: BlockToPair): void {
    const { pair } = block;
    const target = this.run.members[this.neighbours[pair]!]!;
    target.blockCame(this.#pairAt(target, pair), this, block);
  }

  acknowledged({ slot }: BlockToPair): void {
    this.#complete(false, () => this.#sent(slot));
  }

  #push(block: BlockToPair): void {
    const { pair, slot } = block;
    this.#work.sends += 1;
    this.#targetOf[slot] = pair;
    const delay = this.run.delayOf(this.node, this.run.group.members[this.neighbours[pair]!]!, block.block);
    this.#sends.push(new BlockSend(this, block, delay, this.tracer?.send(pair)));
  }

  /** The NIC releases the relays that wait for the last block of that neighbour. */
  #release(pair: number): void {
    after(this.run.clock, this.run.nic.offload, () => {
      this.#came[pair]! += 1;
      for (const queue of this.sendQueues) queue.continue();
    });
  }

  // A request that costs nothing can lead to the next turn of this member, so each list is replaced before it is given.

  #giveReceives(): void {
    const receives = this.#receives;
    this.#receives = [];
    for (const receive of receives) {
      const record = this.#recordOf[receive.slot];
      if (record) record.receivePosted = this.now;
      this.receives[receive.pair]!.post(receive);
    }
  }

  #giveSends(): void {
    const sends = this.#sends;
    this.#sends = [];
    for (const send of sends) {
      send.posted();
      this.sendQueues[send.to.pair]!.post(send);
    }
  }

  #giveAnnouncements(): void {
    const announcements = this.#announcements;
    this.#announcements = [];
    for (const announcement of announcements) this.#announceTo(announcement);
  }

  #reportFinished(): void {
    const finished = this.#finished;
    this.#finished = [];
    for (const message of finished) {
      this.finishedAt.push(this.now);
      this.run.finished(message);
    }
  }

  #sent(slot: number): void {
    const target = this.run.group.members[this.neighbours[this.#targetOf[slot]!]!]!;
    const wasFull = this.machine.outstandingSends === this.#sendWindow;
    if (wasFull) this.tracer?.slotFreed(target, this.run.clock.now);
    this.machine.sendCompleted(slot);
  }

  /** An announcement has no bytes; it does not wait for blocks. */
  #announceTo({ pair, count, confirmAs }: WrittenAnnouncement): void {
    const { clock, nic, members } = this.run;
    const target = members[this.neighbours[pair]!]!;
    after(clock, nic.request + nic.latency, () => {
      target.#announced(this.#pairAt(target, pair), count);
      if (confirmAs === 0) return;
      after(clock, nic.acknowledgement, () => {
        this.#complete(false, () => this.machine.announcementConfirmed(pair, confirmAs));
      });
    });
  }

  #announced(pair: number, count: number): void {
    this.#complete(true, () => {
      this.tracer?.announced(pair, count, this.run.clock.now);
      this.machine.announced(pair, count);
    });
  }

  /** The number that this member has at the neighbour `pair`. */
  #pairAt(target: Member, pair: number): number {
    this.#pairs[pair] ??= target.neighbours.indexOf(this.rank);
    return this.#pairs[pair];
  }

  #command(delay: number, take: () => void): void {
    after(this.run.clock, delay, () => this.#complete(true, take));
  }

  #complete(solicited: boolean, take: () => void): void {
    this.executor.deliver({ member: this, solicited, take });
  }
}
