import { defaultChannelCosts } from '@rdmc/simulator';
import { describe, expect, it } from 'vitest';
import { simulatedSavings } from '../src/catalogue/hipower/figure-6b.js';
import { concurrentRuns } from '../src/catalogue/rdmc/concurrent.js';
import { placedOutcome } from '../src/catalogue/rdmc/figure-10b.js';
import { rankOrders } from '../src/catalogue/rdmc/rank-orders.js';
import { Channels, simulatedChannels } from '../src/simulation/channels.js';
import { Reports } from '../src/simulation/sweep.js';

describe('the simulated savings of Figure 6b', () => {
  it('say which costs they follow from, and what others give', () => {
    const { facts, notes } = simulatedSavings(new Channels());
    expect(facts.gather).toBe(
      `−79% (512 B; −66% if a delivery takes ${2 * defaultChannelCosts.delivery} µs)`,
    );
    expect(facts.broadcast).toContain('−73% (512 B;');
    expect(notes[0]).toContain('is an input');
    expect(notes[0]).toContain('where the paper has −20%');
  });
});

describe('simulated channels', () => {
  it('run after the simulator was compared with known results', async () => {
    const said: string[] = [];
    const way = simulatedChannels('hipower-5a', () => ({ panels: [], facts: {}, notes: ['of the figure'] }));
    const bench = {
      say: (line: string) => said.push(line),
      command: async () => '',
      recorded: () => undefined,
    };
    const { notes } = await way.run!(bench);
    expect(said[0]).toMatch(/the simulator reproduced \d\d+ known results/);
    expect(notes[0]).toBe('of the figure');
    expect(way.command).toBe('npm run reproduce -- --figure hipower-5a --way simulated');
  });
});

describe('members in racks', () => {
  it('are simulated in twenty placements, of which one is not all', () => {
    const runs = concurrentRuns('apt', 20);
    const seeds = [...runs].filter(([name]) => name.startsWith('100 MB, all send, n=8'));
    expect(seeds.map(([, { seed }]) => seed)).toEqual(Array.from({ length: 20 }, (_, index) => index + 1));
    expect(concurrentRuns('fractus').size).toBe(runs.size / 20);
    // The first placement is far from the others.
    const reports = new Reports(
      new Map(
        [...runs.keys()].map((name) => [name, { gbitPerSecond: name.includes('placement') ? 30 : 54 }]),
      ) as never,
    );
    const { panels, facts, notes } = placedOutcome(reports);
    expect(panels[0]!.series[0]!.values).toEqual([30, 30, 30, 30]);
    expect(facts.all).toBe('30.0 Gbit/s (30.0 to 54.0)');
    expect(notes[0]).toContain('20 random placements');
  });

  it('have ranks at random in the benchmark, the same each time', () => {
    const orders = rankOrders(16);
    expect(orders).toHaveLength(3);
    const inOrder = Array.from({ length: 16 }, (_, index) => index);
    for (const order of orders) {
      expect(order).not.toEqual(inOrder);
      expect([...order].sort((a, b) => a - b)).toEqual(inOrder);
      // Neighbours of a schedule are in other racks now: half of the first eight.
      expect(order.slice(0, 8).some((host) => host >= 8)).toBe(true);
    }
    expect(rankOrders(16)).toEqual(orders);
  });
});
