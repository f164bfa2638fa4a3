import type { ProtocolContext } from '@rdmc/dataplane';
import {
  attachRegion,
  type CompletionFailure,
  type MemoryRegion,
  type QueuePairAddress,
  type RemoteKey,
  remoteKey,
} from '@rdmc/verbs';
import { WATCH_COUNTS_MS } from '../constants.js';
import type { GroupRecords, GroupSetup, TableAddress, TableSetup } from '../records.js';
import { has, union } from '../stable/ranks.js';
import { type RowLayout, rowLayout } from '../stable/table-layout.js';
import { connectOptions } from './connect-options.js';
import { probeLimitMs } from './neighbour-watch.js';
import { type SmallListener, SmallQueue } from './small-queue.js';

/** Receives that are posted for the notices of a link. A notice that finds none waits: its sender sends no other one. */
const NOTICES = 4;
/** A notice waits for its receive as long as the connection lasts. */
const RNR_RETRIES = 7;
const REQUESTS = 1;

const LOST_REQUEST: CompletionFailure = {
  status: 'RETRY_EXCEEDED',
  refusal: undefined,
  reason: "its device did not answer in time, and this member's device did not report that",
};

/** The functions of the group that its table calls. */
export interface TableHost {
  /** Asks for an `advance` in this turn. */
  advanceSoon(): void;
  /** Rows of other members have changed. */
  tellTable(): void;
  /** The queue pair of a link failed, or a request on it was lost; once for each link. `isOwn`: this member sent the request. */
  tableBroke(link: number, isOwn: boolean, failure: CompletionFailure): void;
}

interface Link {
  readonly queue: SmallQueue;
  remoteAddress: number;
  remoteKey: RemoteKey;
  /** The member at the other end delivers messages, and so needs counts. */
  readonly takesCounts: boolean;
  isConnected: boolean;
  isBroken: boolean;
  /** A WRITE has not completed, */
  isBusy: boolean;
  /** for so many milliseconds. */
  waitedMs: number;
  /** Counts and sequence of the row that was written last. */
  readonly counts: Int32Array;
  sequence: number;
}

/** The table in the worker, drawn in `stable/table-layout.ts`: writes this member's row to the others when it has changed. */
export class TableSide implements SmallListener {
  readonly #region: MemoryRegion;
  readonly #words: Int32Array;
  readonly #layout: RowLayout;
  readonly #links: Link[] = [];
  /** The longest time of a WRITE of a state; Infinity for a device that completes every request. */
  readonly #limitMs: number;
  /** The row had a state at the last look. */
  #hadState = false;
  #hasNews = false;
  /** Links whose members do not need a further row, and the calls that wait for the other links. */
  #skipped = 0;
  readonly #settling: (() => void)[] = [];

  constructor(
    private readonly context: ProtocolContext<GroupRecords>,
    setup: TableSetup,
    private readonly group: GroupSetup,
    private readonly host: TableHost,
  ) {
    this.#region = attachRegion(context.device, setup.own);
    this.#layout = rowLayout(setup.senders);
    const { ownBytes } = this.#layout;
    const { buffer, byteOffset } = this.#region.view(0, ownBytes);
    this.#words = new Int32Array(buffer, byteOffset, ownBytes / 4);
    this.#limitMs = probeLimitMs(context, group.retryTimeoutMs);
  }

  createQueue(link: number): QueuePairAddress {
    const queue = new SmallQueue(this.context, link, this, this, { requests: REQUESTS, notices: NOTICES });
    const isReceiver = this.group.rank !== 0;
    // Link 0 of a receiver leads to the root, which does not deliver. With many senders, all members deliver.
    const takesCounts = this.group.rings !== null || (isReceiver && link > 0);
    const fresh = { isConnected: false, isBroken: false, isBusy: false, waitedMs: 0, sequence: 0 };
    const counts = new Int32Array(this.#layout.senders);
    this.#links[link] = { queue, remoteAddress: 0, remoteKey: remoteKey(0), takesCounts, counts, ...fresh };
    return queue.address;
  }

  async connect(at: number, { queue, row }: TableAddress): Promise<string> {
    const link = this.#links[at]!;
    link.remoteAddress = row.address;
    link.remoteKey = remoteKey(row.rkey);
    const transport = await link.queue.connect(queue, {
      ...connectOptions(this.group),
      rnrRetries: RNR_RETRIES,
    });
    link.isConnected = true;
    this.host.advanceSoon();
    return transport;
  }

  /** Writes the row where it has changed, and tells the application of rows that have. */
  advance(): void {
    Atomics.store(this.#words, this.#layout.kicked, 0);
    for (const link of this.#links) if (this.#isStale(link)) this.#write(link);
    if (!this.#hasNews) return;
    this.#hasNews = false;
    if (Atomics.exchange(this.#words, this.#layout.told, 1) === 0) this.host.tellTable();
  }

  /** Whether a WRITE is under way whose loss the device may not report. */
  get isBusy(): boolean {
    return Number.isFinite(this.#limitMs) && this.#links.some(isUnderWay);
  }

  /**
   * Every WATCH_INTERVAL_MS or later, while any group is busy. A device that lost a WRITE reports nothing: the others would wait
   * for these counts, or the survivors for this state. Returns whether the table needs another look.
   */
  look(sinceMs: number): boolean {
    if (!this.isBusy) return false;
    const hasState = Atomics.load(this.#words, this.#layout.sequence) !== 0;
    const isFirstState = hasState && !this.#hadState;
    this.#hadState = hasState;
    const limitMs = hasState ? this.#limitMs : this.#limitMs + WATCH_COUNTS_MS;
    for (const [at, link] of this.#links.entries()) {
      if (!isUnderWay(link)) continue;
      // A WRITE of counts in front of the state had the longer limit until now.
      if (isFirstState) link.waitedMs = 0;
      link.waitedMs += sinceMs;
      if (link.waitedMs > limitMs) this.smallFailed(at, true, LOST_REQUEST);
    }
    return this.isBusy;
  }

  /** Whether the completion of an own request matters. */
  get waitsForOwn(): boolean {
    return this.#settling.length > 0 || this.#links.some((link) => link.isBusy && this.#hasChanged(link));
  }

  /**
   * Resolves when all members have the row, except for those at broken links and at the links in the set `skipped`. A later
   * call adds links to that set for earlier ones as well.
   */
  settle(skipped: number): Promise<void> {
    this.#skipped = union(this.#skipped, skipped);
    return new Promise((resolve) => {
      this.#settling.push(resolve);
      this.#checkSettled();
      this.host.advanceSoon();
    });
  }

  noticed(link: number): void {
    this.#links[link]!.queue.receive();
    this.#hasNews = true;
    this.host.advanceSoon();
  }

  sent(link: number): void {
    this.#links[link]!.isBusy = false;
    this.#checkSettled();
    this.host.advanceSoon();
  }

  smallProbed(): void {}

  smallFailed(at: number, isOwn: boolean, failure: CompletionFailure): void {
    const link = this.#links[at]!;
    if (link.isBroken) return;
    link.isBroken = true;
    this.#checkSettled();
    this.host.tableBroke(at, isOwn, failure);
  }

  /** A barrier: once it returns, the others do not write any more. */
  modifyToError(): void {
    for (const { queue } of this.#created) queue.modifyToError();
  }

  async close(): Promise<void> {
    for (const done of this.#settling.splice(0)) done();
    await Promise.all(this.#created.map(({ queue }) => queue.close()));
  }

  /** In a creation that has failed, the device may have refused the queue pair of a link in front of others. */
  get #created(): Link[] {
    return Object.values(this.#links);
  }

  #hasChanged(link: Link): boolean {
    const { sequence, count, senders } = this.#layout;
    if (Atomics.load(this.#words, sequence) !== link.sequence) return true;
    if (!link.takesCounts) return false;
    for (let sender = 0; sender < senders; sender += 1) {
      if (Atomics.load(this.#words, count + sender) !== link.counts[sender]) return true;
    }
    return false;
  }

  #isStale(link: Link): boolean {
    return link.isConnected && !link.isBroken && !link.isBusy && this.#hasChanged(link);
  }

  /** The device may read the row later than now: then the WRITE has more than what is noted here, and another one follows. */
  #write(link: Link): void {
    link.isBusy = true;
    link.waitedMs = 0;
    const { sequence, count, rowBytes } = this.#layout;
    link.sequence = Atomics.load(this.#words, sequence);
    for (let sender = 0; sender < link.counts.length; sender += 1) {
      link.counts[sender] = Atomics.load(this.#words, count + sender);
    }
    link.queue.notice(0, link.remoteAddress, link.remoteKey);
    link.queue.memory(this.#region.address, rowBytes, this.#region.lkey);
  }

  #checkSettled(): void {
    const isOpen = (link: Link, at: number): boolean =>
      !link.isBroken && !has(this.#skipped, at) && (link.isBusy || this.#hasChanged(link));
    if (this.#settling.length === 0 || this.#links.some(isOpen)) return;
    for (const done of this.#settling.splice(0)) done();
  }
}

function isUnderWay({ isBusy, isBroken }: Link): boolean {
  return isBusy && !isBroken;
}
