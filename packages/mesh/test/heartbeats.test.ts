import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { DISTANT_FACTOR } from '../src/constants.js';
import { Heartbeats, type Pace } from '../src/heartbeats.js';
import type { Link } from '../src/link.js';

const INTERVAL_MS = 20;
const SILENCE_MS = 60;
/** Both immediates of a suspicion. */
const LOOKS_MS = 1;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'setImmediate', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** Heartbeats to one peer, started, and what they did. */
function rig(
  pace: Pace | (() => Pace) = { tickMs: INTERVAL_MS, ticks: 1, silenceMs: SILENCE_MS },
  isDistant = () => false,
) {
  const link = {
    peer: 1,
    heard: false,
    silentMs: 0,
    idleTicks: 0,
    heartbeatTicks: 0,
    bufferedBytes: 0,
    isDistant: isDistant(),
    saidDistant: false,
    peerIsDistant: true,
    sent: 0,
    send: () => {
      link.sent += 1;
      link.idleTicks = 0;
    },
  };
  const links = new Map([[1, link as unknown as Link]]);
  const silent: Link[] = [];
  const times: number[] = [];
  const told: boolean[] = [];
  const heartbeats = new Heartbeats(links, {
    pace: typeof pace === 'function' ? pace : () => pace,
    heartbeat: (_, toldDistant) => {
      told.push(toldDistant);
      return Buffer.alloc(0);
    },
    isDistant,
    silent: (lost, silentMs) => {
      silent.push(lost);
      times.push(silentMs);
    },
  });
  heartbeats.start();
  return { link, links, silent, times, told, heartbeats };
}

it('a peer from which nothing comes for the whole time is silent', () => {
  const { link, silent } = rig();
  vi.advanceTimersByTime(SILENCE_MS - 1);
  expect(silent).toEqual([]);
  // Ticks are as long as their clock says, which may be a little less than the interval.
  vi.advanceTimersByTime(1 + INTERVAL_MS + LOOKS_MS);
  expect(silent[0]).toBe(link);
  expect(link.sent).toBe(4);
});

it('a peer that is heard between any two ticks is not', () => {
  const { link, silent } = rig();
  for (let tick = 0; tick < 10; tick += 1) {
    link.heard = true;
    vi.advanceTimersByTime(INTERVAL_MS);
  }
  expect(silent).toEqual([]);
});

it('the time in which this process did not run counts for one interval', () => {
  const { link, silent } = rig();
  vi.advanceTimersByTime(INTERVAL_MS);
  // The process is stopped for long: one tick comes late, and the next in time.
  const now = performance.now() + 100 * SILENCE_MS;
  vi.spyOn(performance, 'now').mockImplementation(() => now);
  vi.advanceTimersByTime(INTERVAL_MS + LOOKS_MS);
  expect(link.silentMs).toBe(2 * INTERVAL_MS);
  expect(silent).toEqual([]);
  vi.mocked(performance.now).mockRestore();
});

it('what comes in before the sockets have been read once more counts', () => {
  const { link, silent } = rig();
  vi.advanceTimersByTime(SILENCE_MS - INTERVAL_MS);
  setImmediate(() => {
    link.heard = true;
  });
  vi.advanceTimersByTime(INTERVAL_MS + LOOKS_MS);
  expect(silent).toEqual([]);
});

it('the time of silence is that of the suspicion, also where a tick comes before the sockets were read', () => {
  let peer: { silentMs: number } | undefined;
  const { link, times } = rig(() => {
    if (peer?.silentMs === SILENCE_MS) peer.silentMs += INTERVAL_MS;
    return { tickMs: INTERVAL_MS, ticks: 1, silenceMs: SILENCE_MS };
  });
  peer = link;
  vi.advanceTimersByTime(SILENCE_MS + INTERVAL_MS + LOOKS_MS);
  expect(times[0]).toBe(SILENCE_MS);
});

it('a link that was replaced, or heartbeats that were stopped, tell nothing', () => {
  const { links, silent, heartbeats } = rig();
  vi.advanceTimersByTime(SILENCE_MS - 1);
  links.clear();
  vi.advanceTimersByTime(1 + LOOKS_MS);
  expect(silent).toEqual([]);
  heartbeats.stop();
  vi.advanceTimersByTime(10 * SILENCE_MS);
  expect(silent).toEqual([]);
});

it('nothing is sent where bytes are queued already', () => {
  const { link } = rig();
  link.bufferedBytes = 1;
  vi.advanceTimersByTime(INTERVAL_MS);
  expect(link.sent).toBe(0);
});

it('with several ticks in an interval, a heartbeat is sent only where nothing else was', () => {
  const { link } = rig({ tickMs: INTERVAL_MS, ticks: 4, silenceMs: 0 });
  for (let tick = 0; tick < 12; tick += 1) {
    link.idleTicks = 0;
    vi.advanceTimersByTime(INTERVAL_MS);
  }
  expect(link.sent).toBe(0);
  vi.advanceTimersByTime(4 * INTERVAL_MS);
  expect(link.sent).toBe(1);
});

it('the times may change while it runs', () => {
  let pace: Pace = { tickMs: INTERVAL_MS, ticks: 1, silenceMs: 0 };
  const { link } = rig(() => pace);
  vi.advanceTimersByTime(INTERVAL_MS);
  pace = { ...pace, tickMs: 10 * INTERVAL_MS };
  vi.advanceTimersByTime(INTERVAL_MS);
  const { sent } = link;
  vi.advanceTimersByTime(9 * INTERVAL_MS);
  expect(link.sent).toBe(sent);
  vi.advanceTimersByTime(INTERVAL_MS);
  expect(link.sent).toBe(sent + 1);
});

it('a distant link has a heartbeat in many intervals, and may be silent as much longer', () => {
  const { link, silent } = rig(undefined, () => true);
  vi.advanceTimersByTime(3 * DISTANT_FACTOR * INTERVAL_MS - INTERVAL_MS);
  // The first one says that the link is distant.
  expect(link.sent).toBe(1 + 3);
  expect(silent).toEqual([]);
  vi.advanceTimersByTime(2 * INTERVAL_MS + LOOKS_MS);
  expect(silent[0]).toBe(link);
});

it('distant links have their turns one after the other', () => {
  const { link } = rig(undefined, () => true);
  // The turn of peer 1 is one tick before that of peer 0.
  vi.advanceTimersByTime((DISTANT_FACTOR - 2) * INTERVAL_MS);
  expect(link.sent).toBe(1);
  vi.advanceTimersByTime(INTERVAL_MS);
  expect(link.sent).toBe(2);
});

it('a distant link has a heartbeat in each interval while the peer expects that', () => {
  const { link } = rig(undefined, () => true);
  link.peerIsDistant = false;
  vi.advanceTimersByTime(5 * INTERVAL_MS);
  expect(link.sent).toBe(5);
});

it('a peer is told at the next tick that it is distant, or is not any more', () => {
  let isDistant = true;
  const { link, told } = rig(undefined, () => isDistant);
  // Bytes are queued, then other frames are sent: neither is a heartbeat.
  link.bufferedBytes = 1;
  vi.advanceTimersByTime(INTERVAL_MS);
  link.bufferedBytes = 0;
  for (const now of [true, false]) {
    isDistant = now;
    link.idleTicks = -1;
    vi.advanceTimersByTime(INTERVAL_MS);
  }
  expect(told).toEqual([true, false]);
});

it('a close link that is silent stays a close one, until the peer is heard', () => {
  let isDistant = false;
  const { link, silent } = rig(undefined, () => isDistant);
  vi.advanceTimersByTime(INTERVAL_MS);
  isDistant = true;
  vi.advanceTimersByTime(SILENCE_MS - 2 * INTERVAL_MS);
  link.heard = true;
  vi.advanceTimersByTime(2 * SILENCE_MS);
  expect(silent).toEqual([]);
  isDistant = false;
  vi.advanceTimersByTime(2 * INTERVAL_MS);
  isDistant = true;
  vi.advanceTimersByTime(SILENCE_MS + LOOKS_MS);
  expect(silent[0]).toBe(link);
});

it('a distant link that becomes a close one is not silent before it could have had heartbeats', () => {
  let isDistant = true;
  const { link, silent } = rig(undefined, () => isDistant);
  vi.advanceTimersByTime(10 * SILENCE_MS);
  isDistant = false;
  vi.advanceTimersByTime(SILENCE_MS);
  expect(silent).toEqual([]);
  vi.advanceTimersByTime(2 * INTERVAL_MS + LOOKS_MS);
  expect(silent[0]).toBe(link);
});
