import { expect, it } from 'vitest';
import { DEFAULT_HEARTBEAT_MS, DEFAULT_LIVE_SILENCE_MS } from '../src/constants.js';
import { firstHeartbeatDelay, livePace } from '../src/live/live-pace.js';

const DEFAULTS = { heartbeatMs: DEFAULT_HEARTBEAT_MS, silenceTimeoutMs: DEFAULT_LIVE_SILENCE_MS };

it('the interval grows with the number of members', () => {
  const interval = (connections: number): number => {
    const { tickMs, ticks } = livePace(DEFAULTS, connections);
    return tickMs * ticks;
  };
  expect(interval(1)).toBe(2000);
  expect(interval(255)).toBeGreaterThanOrEqual(256 * 8);
  expect(interval(1023)).toBeGreaterThanOrEqual(1024 * 8);
});

it('with 256 members a silent peer is found within 10 s, ticks included', () => {
  const { tickMs, silenceMs } = livePace(DEFAULTS, 255);
  expect(silenceMs + 2 * tickMs).toBeLessThanOrEqual(10_000);
});

it('a first heartbeat that is delayed comes before the limit of a peer with one connection', () => {
  for (let connections = 0; connections < 1024; connections += 1) {
    const { tickMs, ticks } = livePace(DEFAULTS, connections);
    const delay = firstHeartbeatDelay(DEFAULTS, connections + 1);
    if (delay === 0) continue;
    expect((delay + ticks) * tickMs + ticks * tickMs).toBeLessThanOrEqual(livePace(DEFAULTS, 1).silenceMs);
  }
  expect(firstHeartbeatDelay(DEFAULTS, 256)).toBeGreaterThan(0);
  expect(firstHeartbeatDelay(DEFAULTS, 1024)).toBe(0);
});

it('silence is not looked for where it is switched off', () => {
  expect(livePace({ ...DEFAULTS, silenceTimeoutMs: 0 }, 255).silenceMs).toBe(0);
});
