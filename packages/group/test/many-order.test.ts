import { rounds, thrown } from '@rdmc/testing';
import { describe, expect, it } from 'vitest';
import { SenderRules, TotalRules } from '../src/many/order-rules.js';
import { SenderCounts } from '../src/many/sender-counts.js';
import { SenderQueues } from '../src/many/sender-queues.js';

const message = (number: number) => ({ number, byteLength: 1 });

/** What a queue delivers now, as `sender:number`. */
function deliver(queues: SenderQueues<{ number: number; byteLength: number }>): string[] {
  const items: string[] = [];
  for (let sender = queues.next(); sender !== -1; sender = queues.next()) {
    items.push(`${sender}:${queues.take(sender).number}`);
  }
  return items;
}

describe('the numbers of the senders', () => {
  it('have no gaps, and go on beyond 32 bits', () => {
    const counts = new SenderCounts(2, 2 ** 33);
    expect(counts.message(1, 0)).toBe(0);
    counts.skipped(1, 1, 2 ** 32 - 2);
    expect(counts.message(1, 0xffff_ffff)).toBe(0xffff_ffff);
    expect(counts.message(1, 0)).toBe(2 ** 32);
    expect(counts.counts).toEqual([0, 2 ** 32 + 1]);
    expect(counts.ends).toEqual([0, 2 ** 32 + 1]);
    expect(counts.messages).toBe(3);
  });

  it.each<[string, (counts: SenderCounts) => void]>([
    ['a message twice', (counts) => counts.message(0, 0)],
    ['a message that is not the next one', (counts) => counts.message(0, 2)],
    ['skipped numbers that are not the next ones', (counts) => counts.skipped(0, 2, 1)],
    ['no skipped number', (counts) => counts.skipped(0, 1, 0)],
    ['numbers that no honest sender skips', (counts) => counts.skipped(0, 1, 11)],
  ])('%s is refused, and does not count', (_name, breaks) => {
    const counts = new SenderCounts(2, 10);
    counts.message(0, 0);
    expect(thrown(() => breaks(counts))).toMatchObject({ name: 'OrderViolation' });
    counts.skipped(0, 1, 10);
    expect(counts.counts).toEqual([11, 0]);
  });
});

describe('the queues of the senders', () => {
  it('deliver in rounds what is stable, past skipped numbers and closed senders', () => {
    const queues = new SenderQueues(3, new TotalRules());
    for (const [sender, number] of [
      [0, 0],
      [0, 1],
      [1, 0],
      [2, 1],
      [0, 2],
    ] as const)
      queues.push(sender, message(number));
    expect(deliver(queues)).toEqual([]);
    queues.stable([3, 1, 0]);
    expect(deliver(queues)).toEqual(['0:0', '1:0']);
    queues.stable([3, 1, 2]);
    expect(deliver(queues)).toEqual(['0:1']);
    queues.closed(1, 1);
    expect(deliver(queues)).toEqual(['2:1', '0:2']);
  });

  it('deliver each sender for itself, without a total order', () => {
    const queues = new SenderQueues(2, new SenderRules());
    for (const number of [0, 1, 2]) queues.push(1, message(number));
    queues.stable([0, 2]);
    expect(deliver(queues)).toEqual(['1:0', '1:1']);
    expect(queues.trim([0, 2]).map(({ number }) => number)).toEqual([2]);
    expect(deliver(queues)).toEqual([]);
    expect(queues.hasMessages).toBe(false);
  });

  it('after a failure deliver what was agreed on in the same order, and give the rest back', () => {
    const queues = new SenderQueues(2, new TotalRules());
    for (const number of [0, 1, 2]) queues.push(0, message(number));
    for (const number of [0, 1]) queues.push(1, message(number));
    expect(queues.trim([3, 1]).map(({ number }) => number)).toEqual([1]);
    expect(deliver(queues)).toEqual(['0:0', '1:0', '0:1', '0:2']);
  });

  it('hold up a sender of which much is held, and no other one', () => {
    const queues = new SenderQueues(2, new TotalRules());
    for (let number = 0; number < 20_000; number += 1) queues.push(1, message(number));
    expect([0, 1].map((sender) => queues.isFull(sender))).toEqual([false, true]);
  });
});

/** A sender and receiver of many, in memory. */
class Peer {
  readonly counts: SenderCounts;
  readonly queues: SenderQueues<{ number: number; byteLength: number }>;
  readonly delivered: string[] = [];
  readonly log: ('message' | number)[] = [];
  used = 0;
  /** Entries that were read, by sender. */
  readonly read: number[];

  constructor(
    readonly own: number,
    readonly all: readonly Peer[],
    members: number,
  ) {
    this.counts = new SenderCounts(members, 1000);
    this.queues = new SenderQueues(members, new TotalRules());
    this.read = Array.from({ length: members }, () => 0);
  }

  send(): void {
    this.log.push('message');
    this.used += 1;
  }

  /** Reads an entry of that sender; false if there is none. */
  take(sender: number): boolean {
    const entry = this.all[sender]!.log[this.read[sender]!];
    if (entry === undefined) return false;
    this.read[sender]! += 1;
    const next = this.counts.counts[sender]!;
    if (entry === 'message') this.queues.push(sender, message(this.counts.message(sender, next)));
    else this.counts.skipped(sender, next, entry);
    const owed = new TotalRules().owed(this.own, this.used, this.counts.ends);
    if (owed > 0) this.log.push(owed);
    this.used += owed;
    return true;
  }

  /** Whether it has not read all that was sent. */
  get lacksAny(): boolean {
    return this.all.some(({ log }, sender) => this.read[sender]! < log.length);
  }

  look(): void {
    const stable = this.counts.counts.map((_, sender) =>
      Math.min(...this.all.map(({ counts }) => counts.counts[sender]!)),
    );
    this.queues.stable(stable);
    this.delivered.push(...deliver(this.queues));
  }
}

it('every member delivers all messages in one order, also if one of sixteen sends', async () => {
  await rounds(30, (random) => {
    const members = random.below(2) === 0 ? 16 : 2 + random.below(4);
    const peers: Peer[] = [];
    for (let own = 0; own < members; own += 1) peers.push(new Peer(own, peers, members));
    const senders = members === 16 ? [random.of(peers)] : peers.filter(() => random.below(3) > 0);
    let left = 60;
    // A number of idle steps alone would sometimes end it before everybody has read everything.
    for (let idle = 0; idle < 200 || peers.some((peer) => peer.lacksAny); ) {
      const peer = random.of(peers);
      if (senders.length > 0 && left > 0 && random.below(4) === 0) {
        random.of(senders).send();
        left -= 1;
        idle = 0;
      }
      idle = peer.take(random.below(members)) ? 0 : idle + 1;
      peer.look();
    }
    for (const peer of peers) peer.look();
    const [first, ...others] = peers;
    expect(first!.delivered).toHaveLength(senders.length > 0 ? 60 : 0);
    for (const peer of others) expect(peer.delivered).toEqual(first!.delivered);
    // Skipped numbers do not cause further ones: nothing is under way, and nothing was sent without messages.
    if (senders.length === 0) expect(peers.every(({ log }) => log.length === 0)).toBe(true);
  });
});
