import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { NEWS_GAP_MS, REPAIRS_POSTPONED, TICKS_PER_HEARTBEAT } from '../src/constants.js';
import type { Hello } from '../src/hello.js';
import type { Link } from '../src/link.js';
import { DialSlots } from '../src/live/dial-slots.js';
import { decodeRoster } from '../src/live/frames.js';
import type { Membership } from '../src/live/membership.js';
import { NewsBatch } from '../src/live/news-batch.js';
import { Roster, type RosterDelta, type RosterEntry } from '../src/live/roster.js';
import { RosterExchange } from '../src/live/roster-exchange.js';

function entryOf(id: number): RosterEntry {
  const instance = String(id).repeat(32).slice(0, 32);
  return { id, incarnation: 1, instance, host: '127.0.0.1', port: 1, process: { host: 'here', pid: 1 } };
}

const news = (...ids: number[]): RosterDelta => ({ entries: ids.map(entryOf), marks: [] });
const idsOf = ({ entries }: RosterDelta): number[] => entries.map(({ id }) => id);

describe('slots of attempts to connect', () => {
  it('are given to those that wait, in order, and not beyond the number', () => {
    const slots = new DialSlots(2);
    const called: string[] = [];
    const waiter = (name: string) => {
      const again = (): void => {
        if (slots.take(again)) called.push(name);
      };
      return again;
    };
    for (const name of ['a', 'b', 'c', 'd']) waiter(name)();
    expect(called).toEqual(['a', 'b']);
    slots.release();
    expect(called).toEqual(['a', 'b', 'c']);
    slots.release();
    slots.release();
    expect(called).toEqual(['a', 'b', 'c', 'd']);
  });

  it('go on to the next one where a caller does not need its slot any more', () => {
    const slots = new DialSlots(1);
    expect(slots.take(() => {})).toBe(true);
    let calls = 0;
    const last = (): void => {
      if (slots.take(last)) calls += 1;
    };
    expect(slots.take(() => {})).toBe(false);
    last();
    slots.release();
    expect(calls).toBe(1);
  });

  it('are not offered to one that was forgotten', () => {
    const slots = new DialSlots(1);
    slots.take(() => {});
    const again = vi.fn();
    slots.take(again);
    slots.forget(again);
    slots.release();
    expect(again).not.toHaveBeenCalled();
  });
});

describe('news of members that join at once', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('the first is sent at once, those after it together', () => {
    const sent: number[][] = [];
    const batch = new NewsBatch((delta) => sent.push(idsOf(delta)));
    for (const id of [1, 2, 3]) batch.add(news(id));
    expect(sent).toEqual([[1]]);
    vi.advanceTimersByTime(NEWS_GAP_MS);
    expect(sent).toEqual([[1], [2, 3]]);
    batch.add(news(4));
    expect(sent.length).toBe(2);
    vi.advanceTimersByTime(NEWS_GAP_MS);
    expect(sent.at(-1)).toEqual([4]);
    vi.advanceTimersByTime(NEWS_GAP_MS);
    batch.add(news(5));
    expect(sent.at(-1)).toEqual([5]);
  });

  it('what waits is sent at the end, and no timer stays', () => {
    const sent: number[][] = [];
    const batch = new NewsBatch((delta) => sent.push(idsOf(delta)));
    batch.add(news(1));
    batch.add(news(2));
    batch.flush();
    expect(sent).toEqual([[1], [2]]);
    expect(vi.getTimerCount()).toBe(0);
    batch.flush();
    expect(sent.length).toBe(2);
  });
});

describe('what members are told', () => {
  /** A member that knows itself, and a peer whose HELLO has another digest. */
  function rig() {
    const roster = new Roster({ members: 8, marks: 8 });
    roster.offer(entryOf(0));
    const frames: Buffer[] = [];
    const live = { roster: 'f'.repeat(16) } as Hello['live'];
    const link = { peer: 1, hello: { live }, send: (frame: Buffer) => frames.push(frame) } as unknown as Link;
    const exchange = new RosterExchange({
      links: new Map([[1, link]]),
      membership: () => ({ roster, lost: new Set() }) as unknown as Membership,
      learn: () => {},
    });
    const interval = (): void => {
      for (let tick = 0; tick < TICKS_PER_HEARTBEAT; tick += 1) exchange.ticked();
    };
    return { exchange, link, frames, interval };
  }

  it('whole rosters are not sent in an interval in which connections came, and then once', () => {
    const { exchange, link, frames, interval } = rig();
    exchange.connected(link);
    interval();
    expect(frames).toEqual([]);
    interval();
    expect(frames.length).toBe(1);
    expect(decodeRoster(frames[0]!.subarray(5))).toMatchObject({ isWhole: true, entries: [{ id: 0 }] });
    interval();
    expect(frames.length).toBe(1);
  });

  it('news waits for nothing where a process is replaced or a member is removed', () => {
    const { exchange, frames } = rig();
    const told = () => frames.map((frame) => decodeRoster(frame.subarray(5)));
    exchange.tell(news(5));
    exchange.tell(news(6));
    expect(told().length).toBe(1);
    exchange.tell(news(1));
    expect(idsOf(told()[1]!)).toEqual([6, 1]);
    exchange.tell({ entries: [], marks: [{ id: 6, incarnation: 1 }] });
    exchange.tell({ entries: [], marks: [{ id: 5, incarnation: 1 }] });
    expect(told().length).toBe(4);
    exchange.flush();
  });

  it('whole rosters are sent after some intervals also where connections come in each of them', () => {
    const { exchange, link, frames, interval } = rig();
    for (let count = 0; count <= REPAIRS_POSTPONED; count += 1) {
      expect(frames).toEqual([]);
      exchange.connected(link);
      interval();
    }
    expect(frames.length).toBe(1);
  });
});
