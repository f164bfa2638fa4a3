import { DEFAULT_BURST_BYTES } from '@rdmc/netlab';
import type { SimulateOptions } from '@rdmc/simulator';
import { describe, expect, it } from 'vitest';
import { concurrentOutcome } from '../src/benchmark/concurrent.js';
import { cosmosOutcome } from '../src/benchmark/cosmos.js';
import { dilatedOutcome, dilatedRuns, dilatedWays } from '../src/benchmark/dilated.js';
import { BUCKET_BYTES } from '../src/benchmark/dilated-settings.js';
import { heirsOutcome } from '../src/benchmark/heirs.js';
import { SizesTable, StreamsTable, ThroughputTable } from '../src/benchmark/hipower.js';
import { OfferedLoads } from '../src/benchmark/offered.js';
import { relaysOutcome } from '../src/benchmark/relays.js';
import { messagesInRings, ringsOutcome } from '../src/benchmark/rings.js';
import { slowLinkOnNetlab, slowLinkOutcome } from '../src/benchmark/slow-link.js';
import { consecutive, measuredBreakdown } from '../src/benchmark/steps.js';
import { Threads } from '../src/benchmark/threads.js';
import { waitsOutcome } from '../src/benchmark/waits.js';
import { outcomeOf as figure6b } from '../src/catalogue/hipower/figure-6b.js';
import { flowOutcome } from '../src/catalogue/hipower/resnet.js';
import { measuredOutcome as figure5Measured, stoppedOutcome } from '../src/catalogue/rdmc/figure-5.js';
import { measuredOutcome as table1Measured } from '../src/catalogue/rdmc/table-1.js';
import { primariesOutcome } from '../src/catalogue/tailwind/figure-9.js';
import { workersOutcome } from '../src/catalogue/tailwind/figure-12.js';
import { recoveryOutcome } from '../src/catalogue/tailwind/figure-13.js';
import { RECORD } from './support/record.js';

const FAILED = { code: 'ERR_RDMC_BENCHMARK_FAILED' };

describe('many members on slow links', () => {
  const rows = [
    { n: 8, name: 'binomial-pipeline', seconds: 3 },
    { n: 64, name: 'binomial-pipeline', seconds: 4 },
    { n: 128, name: 'binomial-pipeline', seconds: 3.15, formed: 1.5 },
    { n: 8, name: 'sequential', seconds: 21 },
    { n: 64, name: 'sequential', seconds: 10 },
  ];
  const prediction = {
    ...RECORD,
    way: 'netlab-predicted',
    panels: [
      {
        ...RECORD.panels[0]!,
        x: { label: 'members', values: [8, 64, 128] },
        series: [
          { name: 'binomial-pipeline', values: [3, 4.2, 3] },
          // Of the whole bytes, as the record has it.
          { name: 'sequential', values: [21, 176, null] },
        ],
      },
    ],
  };

  it('are compared with the recorded prediction', () => {
    const { facts, panels, notes } = dilatedOutcome(rows, prediction);
    expect(notes[0]).toBe(
      'The prediction is that of the record netlab-predicted: 2026-11-23, commit 0123abcd+.',
    );
    expect(facts).toEqual({ 'flat-128': '1.050', error: '5.0%', formed: '1.50 s' });
    const errors = (name: string) => panels[1]!.series.find((each) => each.name === name)!.values;
    expect(errors('binomial-pipeline')).toEqual([0, null, 5, -4.8]);
    expect(errors('sequential')).toEqual([0, null, 10, null]);
  });

  it('have sequential sending of a part of the bytes as that of the whole', () => {
    const [measured] = dilatedOutcome(rows, prediction).panels;
    const sequential = measured!.series.find(({ name }) => name === 'sequential')!;
    expect(sequential.values).toEqual([21, null, 160, null]);
  });

  it('have a setting of their own on slower links', () => {
    const ways = dilatedWays('rdmc-8');
    expect(ways.map(({ id }) => id)).toEqual([
      ...['netlab-predicted', 'netlab', 'netlab-10-predicted', 'netlab-10'],
    ]);
    const [fast, slow] = ways.filter(({ simulations }) => simulations).map((way) => way.simulations!());
    expect([fast!.size, slow!.size]).toEqual([16, 6]);
  });

  it('says what was not measured', () => {
    expect(dilatedOutcome([], prediction).facts).toEqual({
      'flat-128': 'not measured',
      error: 'not measured',
    });
  });

  it('are not compared where nothing was predicted, and say so', () => {
    const { facts, panels, notes } = dilatedOutcome(rows, undefined);
    expect(facts.error).toBe('not predicted');
    expect(panels).toHaveLength(1);
    expect(notes[0]).toContain('not a recorded prediction');
  });

  it('have the time from the first receiver to the last one where it was measured', () => {
    const skewed = rows.map((row) => (row.n === 8 ? row : { ...row, skew: row.seconds / 10 }));
    const [, skew] = dilatedOutcome(skewed, undefined).panels;
    expect(skew!.title).toBe('8 MiB, links of 25 Mbit/s: first to last receiver');
    expect(skew!.series.map(({ name, values }) => [name, values])).toEqual([
      ['binomial-pipeline', [null, null, 400, 315]],
      // Of the whole bytes.
      ['sequential', [null, null, 16_000, null]],
    ]);
  });

  it('use the prediction that was recorded before the measurement', async () => {
    const way = dilatedWays('rdmc-8').find(({ id }) => id === 'netlab')!;
    const asked: string[] = [];
    const recorded = (id: string) => {
      asked.push(id);
      return prediction;
    };
    const bench = { say: () => {}, command: async () => JSON.stringify({ rows }), recorded };
    expect((await way.run!(bench)).facts.error).toBe('5.0%');
    expect(asked).toEqual(['netlab-predicted']);
  });

  it('are simulated with the waits of the threads that are measured', () => {
    const [fast, slow] = dilatedWays('rdmc-8').filter(({ simulations }) => simulations);
    const windows = (way: typeof fast) =>
      new Set([...way!.simulations!().values()].map((run) => run.windowMs));
    expect([...windows(fast)]).toEqual([undefined]);
    expect([...windows(slow)]).toEqual([0]);
    const { command } = dilatedWays('rdmc-8').find(({ id }) => id === 'netlab-10')!;
    expect(command).toContain('--window-ms 0 ');
  });

  it('have notes on the buckets of links, and on runs that missed the aim', () => {
    const way = dilatedWays('rdmc-8').find(({ id }) => id === 'netlab-10')!;
    const bench = { say: () => {}, command: async () => JSON.stringify({ rows }), recorded: () => undefined };
    return expect(way.run!(bench)).resolves.toMatchObject({
      notes: expect.arrayContaining([
        expect.stringMatching(/1\.129 with nine.*1\.175/),
        expect.stringContaining('128 KiB, 2 blocks'),
      ]),
    });
  });

  it("are simulated with the bucket of netlab's links, of which data have the same part as of the rate", () => {
    expect(BUCKET_BYTES).toBe(DEFAULT_BURST_BYTES);
    const predicted = dilatedWays('rdmc-8').filter(({ simulations }) => simulations);
    for (const [index, mbit] of [25, 10].entries()) {
      for (const { cluster } of predicted[index]!.simulations!().values()) {
        const { bucketBytes, gbitPerSecond } = cluster as Exclude<SimulateOptions['cluster'], string>;
        expect(bucketBytes! / BUCKET_BYTES).toBeCloseTo((1000 * gbitPerSecond) / mbit, 9);
      }
    }
  });

  it('are simulated with the bytes that are measured', () => {
    const bytes = (name: string) => (dilatedRuns().get(name) as { byteLength: number }).byteLength;
    expect(bytes('sequential, n=128') * 16).toBe(bytes('sequential, n=32'));
    expect(bytes('binomial-pipeline, n=128')).toBe(bytes('binomial-pipeline, n=8'));
  });
});

describe('the load of Cosmos', () => {
  const row = (name: string, mean: number) => ({
    name,
    mean,
    percentiles: [[50, mean]] as const,
    'Mbit/s': 90,
    'all MiB': 2000,
  });

  it('is compared between the algorithms', () => {
    const rows = [row('binomial-pipeline', 2), row('binomial-tree', 4), row('sequential', 6)];
    expect(cosmosOutcome(rows).facts).toMatchObject({ tree: '2.00', sequential: '3.00' });
    expect(cosmosOutcome(rows).facts.memory).toBe('2000 MiB, the sum of peak RSS; blocks of 16 KiB');
    const shared = rows.map((each) => ({ ...each, 'all PSS MiB': 950 }));
    expect(cosmosOutcome(shared).facts.memory).toContain('; 950 MiB of PSS;');
    expect(cosmosOutcome(rows).panels).toHaveLength(1);
    const skewed = rows.map((each) => ({ ...each, skewPercentiles: [[50, 0.1]] as const }));
    expect(cosmosOutcome(skewed).panels[1]).toMatchObject({
      title: 'The same load: first to last replica',
      series: [{ values: [100] }, { values: [100] }, { values: [100] }],
    });
    expect(() => cosmosOutcome(rows.slice(0, 2))).toThrow(expect.objectContaining(FAILED));
  });
});

describe('concurrent groups', () => {
  it('have the rates of messages by members and senders', () => {
    const rows = [3, 4, 8, 16].flatMap((n) =>
      [1, Math.ceil(n / 2), n].flatMap((senders) =>
        [16, 1].map((MiB) => ({ MiB, n, senders, 'Mbit/s of messages': MiB * senders + n })),
      ),
    );
    const { panels, facts } = concurrentOutcome(rows);
    expect(panels[0]!.series[0]!.values).toEqual([51, 68, 136, 272]);
    expect(facts).toEqual({ all: '51 / 68 / 136 / 272 of 100 Mbit/s', one: '32 of 100 Mbit/s' });
    expect(panels).toHaveLength(2);
    const skewed = concurrentOutcome(rows.map((row) => ({ ...row, skew: row.n / 100 }))).panels;
    expect(skewed.map(({ title }) => title).slice(2)).toEqual([
      '16 MiB, links of 100 Mbit/s: first to last receiver',
      '1 MiB, links of 100 Mbit/s: first to last receiver',
    ]);
    expect(skewed[2]!.series[1]!.values).toEqual([30, 40, 80, 160]);
    expect(() => concurrentOutcome(rows.slice(1))).toThrow(expect.objectContaining(FAILED));
  });
});

describe('one slow path', () => {
  const row = (n: number, name: string, kept: number) => ({ n, name, kept, skew: 0.01, formula: 0.75 });
  const rows = [
    row(8, 'binomial-pipeline 1/1/1', 0.76),
    row(8, 'binomial-pipeline', 1.02),
    row(8, 'chain 1/1/1', 0.5),
    row(8, 'chain', 0.55),
  ];

  it('leaves a share of the speed, with both windows', () => {
    const { facts, panels } = slowLinkOutcome(rows);
    expect(facts).toEqual({
      kept: 'n = 8: 0.76 (windows 1/1), 1.02 (shipped); the formula: 0.75',
      chain: 'n = 8: 0.50 (windows 1/1), 0.55 (shipped)',
    });
    expect(panels[0]!.series.map(({ values }) => values[0])).toEqual([0.76, 1.02, 0.5, 0.55, 0.75]);
    expect(panels[1]!.title).toContain('first to last receiver');
    expect(() => slowLinkOutcome(rows.slice(1))).toThrow(expect.objectContaining(FAILED));
    expect(() => slowLinkOutcome([])).toThrow(expect.objectContaining(FAILED));
  });

  it('has commands that npm run reproduce runs, as the rings have', async () => {
    const way = slowLinkOnNetlab();
    const bench = { say: () => {}, command: async () => JSON.stringify({ rows }), recorded: () => undefined };
    expect((await way.run!(bench)).facts.kept).toContain('0.76 (windows 1/1)');
    expect(way.command).toContain('--windows 1/1/1,default');
  });
});

describe('messages through rings', () => {
  const row = (n: number, bytes: number, mpi: number | null) => ({
    n,
    bytes,
    many: 4000 / n,
    single: 10,
    mpi,
  });
  const rows = [1, 1024, 8192].flatMap((bytes) => [row(2, bytes, 5000), row(16, bytes, 90)]);

  it('are beside those of Open MPI where it is installed', () => {
    const { facts, panels, missing } = ringsOutcome(rows);
    expect(facts).toEqual({ rate: '2,000 / 250 (sendMany)', mpi: '5,000 / 90' });
    expect(panels.map(({ title }) => title)).toEqual(
      ['1 byte', '1 KiB', '8 KiB'].map(
        (name) => `Messages of ${name} among processes of one host, through rings`,
      ),
    );
    expect(missing).toEqual([]);
    const alone = ringsOutcome(rows.map((each) => ({ ...each, mpi: null })));
    expect(alone).toMatchObject({ facts: { rate: '2,000 / 250 (sendMany)' }, missing: ['Open MPI'] });
    expect(alone.panels[0]!.series).toHaveLength(2);
    expect(() => ringsOutcome(rows.slice(2))).toThrow(expect.objectContaining(FAILED));
  });

  it('are what the benchmark prints', async () => {
    const bench = {
      say: () => {},
      command: async () => JSON.stringify({ result: { rows } }),
      recorded: () => undefined,
    };
    expect((await messagesInRings().run!(bench)).facts.mpi).toBe('5,000 / 90');
  });
});

describe('the steps of a transfer', () => {
  const block = (from: number, to: number, block: number, started: number, took: number) => ({
    ...{ from, to, block, started, finished: started + took, received: started + took },
  });
  const times = { placed: 160, copied: null };
  const steps = {
    dropped: 0,
    members: [
      { id: 0, began: 0, ...times, finished: 560 },
      { id: 1, began: 110, ...times, finished: 550 },
      { id: 2, began: 150, ...times, finished: 600 },
    ],
    // Two blocks to member 1, which relays them. The second receive of member 2 begins 50 after the first one.
    transfers: [
      block(0, 1, 0, 10, 100),
      block(0, 1, 1, 110, 100),
      block(1, 2, 0, 120, 100),
      block(1, 2, 1, 270, 200),
    ],
  };

  it('are those of the member whose first block arrives last', () => {
    expect(measuredBreakdown(steps)).toEqual([10, 210, 10, 200, 170, 0, 600]);
    expect(table1Measured(steps).facts).toEqual({
      total: '600 µs (links of 1 Gbit/s)',
      step: '250 µs (links of 1 Gbit/s)',
      share: '68.3%',
    });
  });

  it('are transfers and waits, which do not overlap', () => {
    const { panels, facts } = figure5Measured(steps);
    expect(facts).toEqual({
      wait: 'longest of all: root 0 µs, relay 50 µs; a step is 8,800 µs',
      share: '85.7%',
    });
    const [root, relay] = panels;
    expect(root!.series.map(({ values }) => values)).toEqual([
      [100, 100],
      [0, 0],
    ]);
    expect(relay!.series.map(({ values }) => values)).toEqual([
      [100, 200],
      [0, 50],
    ]);
    expect(
      consecutive([
        { started: 0, ended: 10 },
        { started: 5, ended: 30 },
      ]),
    ).toEqual([
      { transfer: 10, wait: 0 },
      { transfer: 20, wait: 0 },
    ]);
  });

  it('are longer where a relay was stopped', () => {
    const stop = { member: 2, from: 200, to: 290 };
    const { facts, panels } = stoppedOutcome({ ...steps, milliseconds: 2.5, before: 2.4, stop });
    expect(facts).toEqual({
      wait: 'a step longer by: root 0 µs, relay 75 µs; stopped for 90 µs, a step is 8,800 µs',
      later: '100 µs than the message before; stopped for 90 µs',
    });
    expect(panels.map(({ title }) => title)).toEqual([
      'The root, as sender',
      'The stopped relay, as receiver',
    ]);
    const late = { ...stop, from: 10_000 };
    for (const wrong of [steps, { ...steps, milliseconds: 2.5, before: 2.4, stop: late }]) {
      expect(() => stoppedOutcome(wrong)).toThrow(expect.objectContaining(FAILED));
    }
  });

  it('need a trace of the blocks', () => {
    expect(() => measuredBreakdown({ ...steps, transfers: [] })).toThrow(expect.objectContaining(FAILED));
  });
});

describe('relays by the device', () => {
  it('are compared with relays by threads, for both ways to wait', () => {
    const row = (n: number, windowMs: number, workerMs: number) => ({ n, windowMs, workerMs, deviceMs: 100 });
    const rows = [row(4, 50, 110), row(8, 50, 95), row(4, 0, 120)];
    const { facts, panels } = relaysOutcome(rows);
    expect(facts).toEqual({ hybrid: '10% (n = 4), -5% (n = 8)', interrupts: '20% (n = 4)' });
    expect(panels[0]!.series[1]!.values).toEqual([110, 95]);
    expect(() => relaysOutcome(rows.slice(0, 2))).toThrow(expect.objectContaining(FAILED));
  });
});

describe('ways to wait', () => {
  const row = (n: number, mode: string, byteLength: number, main: number) => ({
    ...{ n, mode, byteLength, main, worker: 0.02, device: 0.5, others: 0.01 },
    gbitPerSecond: mode === 'interrupts' ? 9 : 10,
  });
  const rows = [2, 4].flatMap((n) =>
    [1e8, 1e6, 1e4].flatMap((byteLength) => [
      row(n, 'polling', byteLength, 0.95),
      row(n, 'hybrid', byteLength, 0.9),
      row(n, 'interrupts', byteLength, byteLength === 1e8 ? 0.1 : 0.4),
    ]),
  );

  it('have the processor time of two members, without that of the device', () => {
    const { facts, panels } = waitsOutcome(rows);
    const bandwidth = '0.90 / 0.90 / 0.90';
    expect(facts).toEqual({ hybrid: '98%', large: '13%', medium: '43%', small: '43%', bandwidth });
    expect(panels.map(({ series }) => series[2]!.values)).toEqual([
      ...[
        [13, 13],
        [43, 43],
        [43, 43],
      ],
      ...[
        [9, 9],
        [9, 9],
        [9, 9],
      ],
    ]);
    expect(() => waitsOutcome(rows.slice(1))).toThrow(expect.objectContaining(FAILED));
    expect(() => waitsOutcome([])).toThrow(expect.objectContaining(FAILED));
  });
});

describe('HiPower', () => {
  const variants = ['baseline', 'pull', 'push'];

  it('streams: latency by stream, variant and size', () => {
    const lines = ['one', 'gather', 'broadcast'].flatMap((stream, s) =>
      variants.map(
        (variant, v) =>
          `| 512 | ${stream} | ${variant} | ${10 * (s + 1) + v} (1.00) | 9 | ${s + 1} (1.00) | ${v + 4} |`,
      ),
    );
    const table = new StreamsTable(lines.join('\n'));
    expect(table.p50('gather', 'push', 512)).toBe(22);
    expect(table.panel('broadcast', 'title').series.map(({ values }) => values)).toEqual([[31], [32], [30]]);
    const [requesters] = table.processorPanels('gather', 'requester', 'title');
    expect(requesters!.series.map(({ values }) => values)).toEqual([[2], [2], [2]]);
    const [responders] = table.processorPanels('gather', 'responder', 'title');
    expect(responders!.series.map(({ values }) => values)).toEqual([[5], [6], [4]]);
    const older = new StreamsTable(lines.map((line) => line.replace(/ 9 \|.*/, ' 9 |')).join('\n'));
    expect(older.processorPanels('gather', 'responder', 'title')).toEqual([]);
    expect(() => table.p50('gather', 'push', 64)).toThrow(expect.objectContaining(FAILED));
    expect(() => new StreamsTable('')).toThrow(expect.objectContaining(FAILED));
  });

  it('processor time of both sides of gather and broadcast', () => {
    const table = (requester: number, responder: number) =>
      new ThroughputTable(
        variants
          .map((name) => `| 512 | ${name} | 300 | 1 | ${requester} | 0 | ${responder} | 0 |`)
          .join('\n'),
      );
    const { panels } = figure6b([table(1, 2), table(3, 4)]);
    expect(panels.map(({ title, series }) => [title, series[0]!.values])).toEqual([
      ['Gather: processor time of the master', [2]],
      ['Broadcast: processor time of the master', [3]],
      ['Gather: processor time of all workers', [1]],
      ['Broadcast: processor time of all workers', [4]],
    ]);
  });

  it('latency by size, with plain TCP', () => {
    const lines = [...variants, 'tcp'].map(
      (variant, v) => `| 512 | ${variant} | ${10 + v} (1.00) | 9 (1.00) |`,
    );
    const table = new SizesTable(lines.join('\n'));
    expect(table.ratio('tcp', 512)).toBe('1.30');
    expect(table.panel('p50', 'title').series.map(({ values }) => values)).toEqual([[11], [12], [10], [13]]);
    expect(() => table.value('p99', 'tcp', 64)).toThrow(expect.objectContaining(FAILED));
    expect(() => new SizesTable('')).toThrow(expect.objectContaining(FAILED));
  });

  it('throughput has plain TCP beside if it was measured for all sizes', () => {
    const lines = variants.map(
      (variant) => `| 512 | ${variant} | 300 (1.00) | 1 | 1 | 0 | 1 | 0 | 0 | 0 | 0 |`,
    );
    const head = { title: 't', description: 'd', unit: 'u', digits: 0 };
    const names = (text: string) =>
      new ThroughputTable(text).panel('rate', head).series.map(({ name }) => name);
    expect(names(lines.join('\n'))).not.toContain('plain TCP');
    expect(names([...lines, '| 512 | tcp | 90 | 1 | 1.1 | 0.00 | 0.7 |'].join('\n'))).toContain('plain TCP');
  });

  it('ResNet-152 as one flow', () => {
    const lines = [
      '| baseline | 100 (1.00) | 19 | 30 (1.00) | 20 (1.00) |',
      '| pull | 80 (0.80) | 24 | 20 | 10 |',
    ];
    const { facts } = flowOutcome([...lines, '| push | 90 (0.90) | 21 | 25 | 15 |'].join('\n'));
    expect(facts).toEqual({ ratio: 'pull 0.80, push 0.90' });
  });
});

describe('Tailwind', () => {
  it('throughput of each active primary', () => {
    const { facts, panels } = primariesOutcome((mode, primaries) => (mode === 'rpc' ? 100 : 120) * primaries);
    expect(facts).toEqual({ one: '1.20', four: '1.20' });
    expect(panels[0]!.series[0]!.values).toEqual([120, 120, 120, 120]);
  });

  it('throughput by servers in place of workers', () => {
    const rate = (mode: string, servers: number) => (mode === 'rpc' ? 20_000 : 30_000) * servers;
    const { facts, panels } = workersOutcome(rate);
    expect(facts).toEqual({ one: '30.0 instead of 20.0 K/s (1.50)', more: '1.50 (1), 1.50 (2), 1.50 (4)' });
    expect(panels[0]!.series[0]!.values).toEqual([30_000, 60_000, 120_000]);
  });

  describe('offered loads', () => {
    const row = (subject: string, offered: number, p50: number, perSecond = offered) => ({
      ...{ subject, offered, perSecond, p50, p99: 2 * p50, primary: p50 / 100, backups: 0.5 },
      ...{ errors: 0, shortWaits: 0, unanswered: 0 },
    });
    const rows = [
      ...[row('one-sided', 1000, 50), row('rpc', 1000, 100), row('redis', 1000, 80)],
      ...[row('one-sided', 20_000, 60), row('rpc', 20_000, 240), row('redis', 20_000, 120)],
      ...[row('one-sided', 40_000, 70), row('rpc', 40_000, 9000, 37_000), row('redis', 40_000, 150)],
    ];

    it('are compared at the lowest load, and at the highest one that both schemes answer', () => {
      const loads = new OfferedLoads(rows);
      const { facts, panels, missing } = loads.latencyOutcome();
      expect(facts).toEqual({
        ...{ median: '0.50 (1000 per second)', tail: '0.50', heavy: '0.25, 0.25 (20000 per second)' },
        redis: '0.63, 0.63 (1000 per second); 0.50, 0.50 (20000 per second)',
      });
      expect(panels[0]!.series.map(({ values }) => values)).toEqual([
        ...[
          [50, 60, 70],
          [100, 240, null],
          [80, 120, 150],
        ],
      ]);
      expect(missing).toEqual([]);
      expect(loads.coresOutcome().facts).toEqual({ cores: '1.10 instead of 2.90 at 20000 writes/s' });
    });

    it('say when Redis is missing, and fail when a write did', () => {
      const { facts, missing } = new OfferedLoads(
        rows.filter(({ subject }) => subject !== 'redis'),
      ).latencyOutcome();
      expect([Object.keys(facts), missing]).toEqual([['median', 'tail', 'heavy'], ['Redis']]);
      expect(() => new OfferedLoads([])).toThrow(expect.objectContaining(FAILED));
      expect(() => new OfferedLoads(rows.slice(1)).latencyOutcome()).toThrow(expect.objectContaining(FAILED));
      const wrong = { ...rows[0]!, shortWaits: 1 };
      expect(() => new OfferedLoads([wrong])).toThrow(expect.objectContaining(FAILED));
    });
  });

  it('recovery by heirs', () => {
    const rows = [
      { heirs: 2, seconds: 10 },
      { heirs: 4, seconds: 5 },
      { heirs: 10, seconds: 2.5 },
    ];
    expect(heirsOutcome(rows).facts).toEqual({
      heirs: 'over 2 heirs: 2.00 (4 heirs; ideal 2), 4.00 (10 heirs; ideal 5)',
    });
    expect(() => heirsOutcome(rows.slice(1))).toThrow(expect.objectContaining(FAILED));
  });

  it('processor time of threads, and the share of waiting', () => {
    const rows = ['b', 'a', 'write-only'].flatMap((workload) =>
      ['one-sided', 'rpc'].map((mode) => ({
        ...{ workload, mode, perSecond: 1, main: 10, worker: 5, device: 1, others: 4 },
        waiting: mode === 'rpc' ? 0.6 : 0.4,
      })),
    );
    const threads = new Threads(rows);
    expect(threads.cpuOutcome().facts).toEqual({ servers: '20.0 / 20.0' });
    expect(threads.waitOutcome().facts).toEqual({ wait: '40.0% (one-sided), 60.0% (messages)' });
    expect(() => new Threads([]).cpuOutcome()).toThrow(expect.objectContaining(FAILED));
  });

  it('recovery', () => {
    const rows = [
      { mode: 'rpc', objects: 1_000_000, seconds: 2 },
      { mode: 'one-sided', objects: 1_000_000, seconds: 2.5 },
    ];
    expect(recoveryOutcome(rows).facts).toEqual({ million: '2.50 / 2.00 s', ten: '– / – s' });
  });
});
