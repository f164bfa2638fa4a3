import { describe, expect, it } from 'vitest';
import { CALM_YIELDS, CONTESTED_YIELD_NS, MAX_REST_MS, MIN_REST_MS } from '../src/constants.js';
import { PollPolicy } from '../src/poll-policy.js';

const LONG = CONTESTED_YIELD_NS + 1;

describe('polling', () => {
  it('continues for the window after the last work', () => {
    const policy = new PollPolicy(50, 0);
    expect(policy.maySleep(49.9)).toBe(false);
    expect(policy.maySleep(50)).toBe(true);
    policy.worked(60);
    expect(policy.maySleep(109)).toBe(false);
    expect(policy.maySleep(110)).toBe(true);
  });

  it('sleeps at once with window 0, and never with window Infinity', () => {
    expect(new PollPolicy(0, 5).maySleep(5)).toBe(true);
    const poller = new PollPolicy(Number.POSITIVE_INFINITY, 0);
    poller.yielded(LONG, 10);
    // Neither while polling pauses nor long afterwards.
    expect(poller.maySleep(11)).toBe(false);
    expect(poller.maySleep(1e12)).toBe(false);
  });

  it('pauses on a contested processor, and tries again afterwards', () => {
    const policy = new PollPolicy(50, 0);
    expect(policy.yielded(CONTESTED_YIELD_NS, 1)).toBe(false);
    expect(policy.maySleep(1)).toBe(false);
    expect(policy.yielded(LONG, 1)).toBe(true);
    policy.worked(2);
    expect(policy.maySleep(2)).toBe(true);
    expect(policy.maySleep(1 + MIN_REST_MS)).toBe(false);
  });

  it('pauses longer after each contested try, up to a limit, and shortly again when contention has ended', () => {
    const policy = new PollPolicy(1e9, 0);
    let now = 0;
    const rests: number[] = [];
    for (let i = 0; i < 10; i += 1) {
      policy.yielded(LONG, now);
      let rest = 0;
      while (policy.maySleep(now + rest)) rest += MIN_REST_MS;
      rests.push(rest);
      now += rest + 1;
    }
    expect(rests.slice(0, 3)).toEqual([MIN_REST_MS, MIN_REST_MS * 2, MIN_REST_MS * 4]);
    expect(rests.at(-1)).toBe(MAX_REST_MS);
    for (let i = 0; i < CALM_YIELDS; i += 1) policy.yielded(300, now);
    policy.yielded(LONG, now);
    expect(policy.maySleep(now + MIN_REST_MS - 1)).toBe(true);
    expect(policy.maySleep(now + MIN_REST_MS)).toBe(false);
  });

  it('does not count uncontested yields from before a contested one', () => {
    const policy = new PollPolicy(1e9, 0);
    policy.yielded(LONG, 0);
    for (let i = 0; i < CALM_YIELDS - 1; i += 1) policy.yielded(300, 0);
    policy.yielded(LONG, 0);
    policy.yielded(300, 0);
    policy.yielded(LONG, 0);
    expect(policy.maySleep(MIN_REST_MS * 4 - 1)).toBe(true);
  });
});
