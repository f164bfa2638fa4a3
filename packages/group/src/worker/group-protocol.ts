import { type CommandHandlers, type Protocol, type ProtocolContext, protocolWorker } from '@rdmc/dataplane';
import { attachRegion } from '@rdmc/verbs';
import { SPARE_BUFFERS, WATCH_INTERVAL_MS, WATCH_LATEST_MS } from '../constants.js';
import { type GroupRecords, type GroupSetup, groupRecords, type SlabSetup } from '../records.js';
import { CompletionBarrier } from './completion-barrier.js';
import { countersAt } from './counters.js';
import { FirstBufferPool } from './first-buffers.js';
import { LoopBack } from './loop-back.js';
import { topologyOf } from './setup-config.js';
import { SharedPlans } from './shared-plans.js';
import { WorkerGroup } from './worker-group.js';

/** All groups of a node, in the data plane's worker. They share its completion queue. */
export class GroupProtocol implements Protocol<GroupRecords> {
  readonly #groups = new Map<number, WorkerGroup>();
  /** The first-block buffers of all groups, by their size. */
  readonly #buffers = new Map<number, FirstBufferPool>();
  /** Groups with an event in this turn. */
  readonly #active: WorkerGroup[] = [];

  readonly #plans = new SharedPlans();
  /** For first blocks of messages whose memory the processor cannot access. */
  readonly #loopBack: LoopBack;
  readonly #barrier: CompletionBarrier;

  /** Runs only while a message is under way in a group, so that it does not wake an idle node. */
  #watchTimer: NodeJS.Timeout | undefined;
  #lastLook = 0;

  constructor(private readonly context: ProtocolContext<GroupRecords>) {
    this.#loopBack = new LoopBack(context as ProtocolContext);
    this.#barrier = new CompletionBarrier(context);
  }

  /** A group may have ended before a command for it arrives. */
  readonly commands: CommandHandlers<GroupRecords> = {
    addBuffers: (slab) => this.#addBuffers(slab),
    dropBuffers: (bufferBytes) => void this.#buffers.delete(bufferBytes),
    open: (setup) => this.#open(setup),
    createPair: ({ group, pair }) => this.#groups.get(group)!.createPair(pair),
    connect: ({ group, pair, address }) => this.#groups.get(group)!.connect(pair, address),
    createSmall: ({ group, link }) => this.#groups.get(group)!.small!.createQueue(link),
    connectSmall: ({ group, link, address }) => this.#groups.get(group)!.small!.connect(link, address),
    growSmall: ({ group, link, ...full }) => this.#groups.get(group)?.small?.grow(link, full),
    kickSmall: (group) => this.#groups.get(group)?.advanceSoon(),
    createTable: ({ group, link }) => this.#groups.get(group)!.table!.createQueue(link),
    connectTable: ({ group, link, address }) => this.#groups.get(group)!.table!.connect(link, address),
    kickTable: (group) => this.#groups.get(group)?.advanceSoon(),
    settleTable: (group, skipped) => this.#groups.get(group)?.table?.settle(skipped),
    start: (group, sendWindow, readyWindow, bufferBytes) =>
      this.#groups.get(group)?.start(sendWindow, readyWindow, this.#buffersOf(bufferBytes)),
    send: (group, ...message) => this.#groups.get(group)?.send(...message),
    place: (group, ...message) => this.#groups.get(group)?.place(...message),
    releaseSlot: (group, slot) => this.#groups.get(group)?.releaseSlot(slot),
    liftSlots: (group) => this.#groups.get(group)?.liftSlots(),
    brokenBehind: ({ group, pair }) => this.#brokenBehind(group, pair),
    abort: (group) => this.#abort(group),
  };

  onTurn(): void {
    this.#barrier.onTurn();
    for (let i = 0; i < this.#active.length; i += 1) this.#active[i]!.advance();
    if (this.#watchTimer === undefined) this.#watchBusy();
    else this.#lookIfDue(performance.now());
    this.#active.length = 0;
  }

  waitsForSolicited(): boolean {
    if (this.#loopBack.isBusy) return false;
    for (const group of this.#groups.values()) {
      if (!group.waitsForNeighbours) return false;
    }
    return true;
  }

  async stop(): Promise<void> {
    this.#stopWatching();
    await Promise.all([...this.#groups.values()].map((group) => group.abort()));
    this.#groups.clear();
    await this.#loopBack.close();
  }

  readonly #want = (group: WorkerGroup): void => {
    if (group.wantsAdvance) return;
    group.wantsAdvance = true;
    this.#active.push(group);
  };

  #watchBusy(): void {
    if (!this.#active.some((group) => group.isBusy)) return;
    this.#lastLook = performance.now();
    // The look happens in the requested turn, after its completions.
    this.#watchTimer = setInterval(() => this.context.wake(), WATCH_LATEST_MS);
    this.#watchTimer.unref();
  }

  /** In a turn that other work has caused, if there is one: a timer that fires wakes the thread of every member. */
  #lookIfDue(now: number): void {
    const elapsedMs = now - this.#lastLook;
    if (elapsedMs < WATCH_INTERVAL_MS) return;
    this.#lastLook = now;
    const sinceMs = Math.min(elapsedMs, WATCH_LATEST_MS);
    let goesOn = false;
    for (const group of this.#groups.values()) goesOn = group.look(sinceMs) || goesOn;
    if (goesOn) this.#watchTimer!.refresh();
    else this.#stopWatching();
  }

  #stopWatching(): void {
    clearInterval(this.#watchTimer);
    this.#watchTimer = undefined;
  }

  #open(setup: GroupSetup): void {
    const counters = countersAt(this.context.data as SharedArrayBuffer, setup.group);
    const plans = this.#plans.join(topologyOf(setup), setup.neighbours);
    const share = { counters, loopBack: this.#loopBack, plans };
    try {
      this.#groups.set(setup.group, new WorkerGroup(this.context, setup, share, this.#want));
    } catch (error) {
      // There is no group that an `abort` would end.
      this.#plans.leave(plans);
      throw error;
    }
  }

  /** A block that the device has sent on may be wrong, and lie in the completion queue: its trouble is reported first. */
  async #brokenBehind(group: number, pair: number): Promise<number | null> {
    await this.#barrier.pass();
    return this.#groups.get(group)?.brokenBehind(pair) ?? null;
  }

  #addBuffers({ bufferBytes, region: handle, buffers }: SlabSetup): void {
    const { address, lkey } = attachRegion(this.context.device, handle);
    this.#buffersOf(bufferBytes).add(address, lkey, buffers);
  }

  #buffersOf(bytes: number): FirstBufferPool {
    const known = this.#buffers.get(bytes);
    const pool = known ?? new FirstBufferPool(bytes, SPARE_BUFFERS);
    if (!known) this.#buffers.set(bytes, pool);
    return pool;
  }

  async #abort(number: number): Promise<void> {
    const group = this.#groups.get(number);
    try {
      await group?.abort();
    } finally {
      // Also if a queue pair was not closed: another group may soon have the number.
      if (group && this.#groups.delete(number)) this.#plans.leave(group.machine.plans);
    }
  }
}

/** The default export of the worker's module. */
export const groupWorker = protocolWorker(groupRecords, (context) => new GroupProtocol(context));
