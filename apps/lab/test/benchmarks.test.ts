import { describe, expect, it } from 'vitest';
import { Appends } from '../src/benchmark/appends.js';
import { blockSizesOutcome } from '../src/benchmark/block-sizes.js';
import { jsonOf, runProgram } from '../src/benchmark/command.js';
import { latencyPanel, ThroughputTable } from '../src/benchmark/hipower.js';
import { latencyOutcome } from '../src/benchmark/netlab-latency.js';
import { tinyOutcome } from '../src/benchmark/tiny-messages.js';
import { CLIENTS, rateKey, rateOf, ratesOutcome, WORKLOADS } from '../src/benchmark/ycsb.js';
import { resnetOutcome } from '../src/catalogue/hipower/resnet.js';

const FAILED = { code: 'ERR_RDMC_BENCHMARK_FAILED' };

const ONE = `# one, device soft over shm, 3 rounds, medians
| size | variant | msg/s | Gb/s | requester µs | NIC | responder µs | NIC | msg/read | fruitless | msg/P read |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
| 512 | baseline | 300 (1.00) | 1.23 | 1.60 (1.00) | 0.00 | 2.00 (1.00) | 0.00 | 0 | 0 | 0 |
| 512 | pull | 450 (1.50) | 1.79 | 1.20 (0.75) | 0.00 | 1.00 (0.50) | 0.00 | 201.78 | 0.87 | 41.38 |
| 512 | push | 600 (2.00) | 2.40 | 0.80 (0.50) | 0.00 | 0.50 (0.25) | 0.00 | 251.27 | 0.51 | 125.48 |
`;

describe('what benchmarks print', () => {
  it('HiPower: throughput and processor time', () => {
    const table = new ThroughputTable(ONE);
    expect(table.sizes).toEqual([512]);
    expect(table.value('rate', 'push', 512)).toBe(600);
    expect(table.value('responder', 'pull', 512)).toBe(1);
    expect(table.ratio('requester', 'pull', 512)).toBe('0.75');
    const head = { title: 't', description: 'd', unit: 'u', digits: 0 };
    expect(table.panel('rate', head).series.map(({ values }) => values)).toEqual([[450], [600], [300]]);
  });

  it('HiPower: a missing line, or no table, is an error with a code', () => {
    expect(() => new ThroughputTable('nothing')).toThrow(expect.objectContaining(FAILED));
    const table = new ThroughputTable(ONE.replace(/.*pull.*\n/, ''));
    expect(() => table.value('rate', 'pull', 512)).toThrow(expect.objectContaining(FAILED));
  });

  it('HiPower: latency by load, of one size', () => {
    const row = (size: number, load: string, variant: string, p50: number) =>
      `| ${size} | ${load} | 1000 | ${variant} | ${p50} (1.00) | 2 (1.00) | 3 |`;
    const rows = ['baseline', 'pull', 'push'].flatMap((variant, index) => [
      row(512, 'unloaded', variant, 10 + index),
      row(512, '0.9', variant, 20 + index),
      row(1024, '0.9', variant, 30 + index),
    ]);
    const panel = latencyPanel(rows.join('\n'), 512);
    expect(panel.x.values).toEqual(['unloaded', '0.9']);
    expect(panel.series.map(({ name, values }) => [name, values])).toEqual([
      ['pull', [11, 21]],
      ['push', [12, 22]],
      ['per work request', [10, 20]],
    ]);
  });

  it('HiPower: ResNet-152', () => {
    const output =
      '| protocol | completion ms | a | b | c |\n| --- | --- | --- | --- | --- |\n| push | 90 | 1 | 2 | 3 |\n| pull | 80 | 4 | 5 | 6 |\n| baseline | 100 | 7 | 8 | 9 |\n';
    expect(resnetOutcome(output).facts).toEqual({ ratio: 'pull 0.80, push 0.90' });
  });

  it('appends: lines of loads and schemes', () => {
    const figures =
      '10 (9 to 11)/s  p50 3 (2 to 4)  p99 5 (4 to 6)  CPU: backups 0.14 (0.10 to 0.20), primary 1.00 (1.00 to 1.00)';
    const schemes = ['rpc', 'one-sided', 'one-sided-here'];
    const output = schemes.map((scheme) => `     8 under way   ${scheme.padEnd(14)}  ${figures}`).join('\n');
    const appends = new Appends(
      `3 backups\n${output}\n    one-sided to rpc: appends 1.00, p50 1.00, p99 1.00\n`,
    );
    expect(appends.loads('under way')).toEqual(['8 under way']);
    expect(appends.value('backups', '8 under way', 'one-sided')).toBe(0.14);
    expect(() => appends.value('rate', '1 under way', 'rpc')).toThrow(expect.objectContaining(FAILED));
    expect(() => new Appends('')).toThrow(expect.objectContaining(FAILED));
  });

  it('netlab: the best of Open MPI’s algorithms beside ours', () => {
    const row = (n: number, name: string, seconds: number) => ({ n, name, seconds });
    const { panels, facts, missing } = latencyOutcome([
      row(4, 'stream', 1),
      row(4, 'rdmc binomial-pipeline', 1.1),
      row(4, 'mpi default', 3),
      row(4, 'mpi pipeline/64K', 2.2),
      row(8, 'stream', 1),
      row(8, 'rdmc binomial-pipeline', 1.2),
      row(8, 'mpi default', 4),
      row(8, 'mpi scatter-allgather-ring', 1.2),
    ]);
    expect(panels[0]!.series.map(({ name }) => name)).toEqual([
      'one TCP stream',
      'rdmc binomial-pipeline',
      'Open MPI, default',
      'Open MPI, best tried',
    ]);
    expect(facts).toEqual({ mpi: '1.00 to 2.00 (best tried)' });
    expect(missing).toEqual([]);
  });

  it('netlab: first to last receiver, of groups', () => {
    const row = (name: string, skew?: number) => ({ n: 4, name, seconds: 1, ...(skew && { skew }) });
    const { panels } = latencyOutcome([row('stream'), row('rdmc chain', 0.2), row('mpi default')]);
    expect(panels[1]).toMatchObject({
      title: '8 MiB to n hosts on links of 400 Mbit/s: first to last receiver',
      series: [{ name: 'rdmc chain', values: [200] }],
    });
  });

  it('netlab: without Open MPI the figure is there, and says so', () => {
    const { panels, facts, missing } = latencyOutcome([
      { n: 4, name: 'rdmc binomial-pipeline', seconds: 1.1 },
    ]);
    expect(panels).toHaveLength(1);
    expect(facts).toEqual({});
    expect(missing).toEqual(['Open MPI']);
  });

  it('messages of one byte: with and without Open MPI', () => {
    const rows = [2, 16].map((n) => ({ n, perSecond: 100 / n, mpiPerSecond: 1000 / n }));
    expect(tinyOutcome(rows)).toMatchObject({ facts: { rate: '50 / 6', mpi: '500 / 63' }, missing: [] });
    const alone = tinyOutcome(rows.map((row) => ({ ...row, mpiPerSecond: null })));
    expect(alone).toMatchObject({ facts: { rate: '50 / 6' }, missing: ['Open MPI'] });
    expect(alone.panels[0]!.series).toHaveLength(1);
  });

  it('block sizes: a line for each message', () => {
    const all = [
      { block: 'auto', ms: 1 },
      { block: 16_384, ms: 2 },
    ] as const;
    const { panels } = blockSizesOutcome([{ n: 4, byteLength: 2 ** 20, all }]);
    expect(panels[0]!.series).toEqual([{ name: '1 MiB', values: [4.19] }]);
  });

  it('block sizes: the note has the best block of the rows themselves', () => {
    const all = [
      { block: 'auto', ms: 0.5 },
      { block: 16_384, ms: 2 },
      { block: 2 ** 20, ms: 1 },
    ] as const;
    const { notes, facts } = blockSizesOutcome([
      { n: 4, byteLength: 2 ** 20, all },
      { n: 4, byteLength: 2 ** 22, all: [...all, { block: 2 ** 22, ms: 3 }] },
    ]);
    expect(notes[0]).toContain('1 MiB for 1 MiB, 1 MiB for 4 MiB.');
    expect(facts).toEqual({ best1m: '1 MiB' });
  });

  it('YCSB: a panel for each workload, and the ratios', () => {
    const rates = new Map(
      WORKLOADS.flatMap(({ id }) =>
        CLIENTS.flatMap((clients) => [
          [rateKey(id, 'one-sided', clients), 300] as const,
          [rateKey(id, 'rpc', clients), 200] as const,
        ]),
      ),
    );
    const { panels, facts } = ratesOutcome(rates);
    expect(panels).toHaveLength(3);
    expect(facts).toEqual({ b: '1.50', a: '1.50', w: '1.50' });
  });

  it('YCSB: a run with error replies has no rate', () => {
    expect(rateOf('{"perSecond":5,"errors":0}', 'kv bench')).toBe(5);
    expect(() => rateOf('{"perSecond":5,"errors":2}', 'kv bench')).toThrow(expect.objectContaining(FAILED));
  });

  it('a program that fails, or does not print JSON, is an error with a code and the command', async () => {
    await expect(runProgram(['-e', 'process.exit(3)'])).rejects.toMatchObject({
      ...FAILED,
      message: 'node -e process.exit(3) ended with 3',
    });
    await expect(runProgram(['-p', '1 + 1'])).resolves.toBe('2\n');
    expect(() => jsonOf('{', 'the command')).toThrow(/^the command did not print JSON/);
  });

  it('a signal ends the program, then this process', async () => {
    const before = process.listenerCount('SIGTERM');
    const signals: string[] = [];
    const running = runProgram(['-e', 'setInterval(() => {}, 1000)'], {}, (signal) => signals.push(signal));
    process.emit('SIGTERM', 'SIGTERM');
    await expect(running).rejects.toMatchObject({ message: expect.stringMatching(/ended with SIGTERM$/) });
    expect(signals).toEqual(['SIGTERM']);
    expect(process.listenerCount('SIGTERM')).toBe(before);
  });
});
