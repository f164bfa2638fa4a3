import { describe, expect, it } from 'vitest';
import { idealCluster, type SimulateChannelsOptions, simulateChannels } from '../src/index.js';

const HIPOWER = { cluster: 'hipower', pattern: 'one', messages: 4000 } as const;
const VARIANTS = {
  baseline: { confirmation: 'per-request' },
  pull: { confirmation: 'bitmap', mode: 'pull' },
  push: { confirmation: 'bitmap', mode: 'push' },
} as const;
const NO_COSTS = { message: 0, delivery: 0, completion: 0, post: 0, look: 0, request: 0 };

function rate(
  variant: keyof typeof VARIANTS,
  byteLength: number,
  more: Partial<SimulateChannelsOptions> = {},
) {
  return simulateChannels({ ...HIPOWER, ...VARIANTS[variant], byteLength, ...more });
}

describe('simulated channels', () => {
  it.each(Object.keys(VARIANTS) as (keyof typeof VARIANTS)[])(
    '%s delivers every message once, to all responders',
    (variant) => {
      for (const slots of [1, 2, 33, 256]) {
        const one = rate(variant, 512, { slots, messages: 500 });
        expect(one.deliveries).toBe(500);
        const gather = rate(variant, 512, { slots, messages: 200, pattern: 'gather', workers: 3 });
        expect(gather.deliveries).toBe(600);
        const broadcast = rate(variant, 512, { slots, messages: 200, pattern: 'broadcast', workers: 3 });
        expect(broadcast.deliveries).toBe(600);
      }
    },
  );

  it('are as fast as the link where threads cost nothing', () => {
    const cluster = idealCluster(40);
    const { gbitPerSecond } = rate('push', 65_536, { cluster, costs: NO_COSTS, messages: 2000 });
    // Footers, headers of 17 packets, and the bitmap behind each batch.
    expect(gbitPerSecond).toBeGreaterThan(40 * 0.97);
    expect(gbitPerSecond).toBeLessThan(40);
  });

  it('share the link of the master when they gather', () => {
    const one = rate('pull', 16_384, { messages: 1000 });
    const four = rate('pull', 16_384, { messages: 1000, pattern: 'gather', workers: 4 });
    expect(four.gbitPerSecond / one.gbitPerSecond).toBeGreaterThan(0.95);
    expect(four.gbitPerSecond).toBeLessThan(40);
  });

  it('have the rates of Figure 5a, to which their costs are fitted, and are equal for large messages', () => {
    const ratio = (bytes: number) =>
      rate('pull', bytes).messagesPerSecond / rate('baseline', bytes).messagesPerSecond;
    expect(rate('baseline', 512).messagesPerSecond / 2.81e6).toBeCloseTo(1, 1);
    // The paper has 1.75 and 1.28.
    expect(ratio(512)).toBeGreaterThan(1.6);
    expect(ratio(512)).toBeLessThan(1.8);
    expect(ratio(1024)).toBeGreaterThan(1.2);
    expect(ratio(16_384)).toBeCloseTo(1, 1);
  });

  it('do what is due, at the time when it is due', () => {
    const { microseconds, latency } = rate('push', 512, { perSecond: 10_000, messages: 101 });
    expect(microseconds).toBeGreaterThanOrEqual(10_000);
    expect(microseconds).toBeLessThan(10_010);
    // One WRITE, and the bitmap behind it.
    expect(latency.p50).toBeGreaterThan(1);
    expect(latency.p99).toBeLessThan(5);
  });

  it('cost the responder less than confirmations', () => {
    const work = (variant: keyof typeof VARIANTS) => rate(variant, 512).responderWork;
    expect(work('push')).toBeLessThan(0.5 * work('baseline'));
  });

  it('give the same for the same options', () => {
    expect(rate('pull', 700)).toEqual(rate('pull', 700));
  });

  it.each([
    ['an unknown option', { colour: 1 }, 'ERR_RDMC_UNKNOWN_OPTION'],
    ['an unknown preset', { cluster: 'summit' }, 'ERR_RDMC_UNKNOWN_PRESET'],
    ['an unknown pattern', { pattern: 'ring' }, 'ERR_RDMC_INVALID_OPTION'],
    ['no slot', { slots: 0 }, 'ERR_RDMC_INVALID_OPTION'],
    ['a rate of 0', { perSecond: 0 }, 'ERR_RDMC_INVALID_OPTION'],
    ['a negative cost', { costs: { post: -1 } }, 'ERR_RDMC_INVALID_OPTION'],
    ['an unknown cost', { costs: { wakeUp: 1 } }, 'ERR_RDMC_UNKNOWN_OPTION'],
  ])('refuse %s', (_name, options, code) => {
    expect(() => rate('pull', 512, options as never)).toThrow(expect.objectContaining({ code }));
  });
});
