import { describe, expect, it } from 'vitest';
import { latencyDocument, multicastDocument, streamDocument } from '../src/bench/documents.js';
import { answer, run } from './support/cli.js';

describe('rdmc bench', () => {
  it.each(['write', 'send', 'read'])('bandwidth of %s', async (operation) => {
    const args = ['-o', operation, '-s', '4KiB,1MiB', '--seconds', '0.02', '--json'];
    const { code, stdout } = await run('bench', 'bandwidth', ...args);
    expect(code).toBe(0);
    const document = streamDocument.parse(JSON.parse(stdout));
    expect(document).toMatchObject({ benchmark: 'bandwidth', operation, device: 'soft', transport: 'shm' });
    expect(document.results.map(({ byteLength }) => byteLength)).toEqual([4096, 2 ** 20]);
    for (const result of document.results) {
      expect(result.bytesPerSecond).toBeCloseTo(result.messagesPerSecond * result.byteLength, 0);
      expect(result.peakBytesPerSecond).toBeGreaterThanOrEqual(result.bytesPerSecond);
    }
  });

  it('rate, as a table', async () => {
    const { code, stdout } = await run('bench', 'rate', '-s', '64', '--seconds', '0.02');
    expect(code).toBe(0);
    expect(stdout).toContain('WRITE message rate between two processes, soft device over shared memory');
    expect(stdout).toMatch(/^ *64 B +[\d,]+ +[\d.,]+ [KMG]?i?B\/s +[\d.,]+ [KMG]?i?B\/s +[\d,]+$/m);
  });

  it.each(['write', 'send', 'read'])('latency of %s', async (operation) => {
    const { code, stdout } = await run(
      'bench',
      'latency',
      '-o',
      operation,
      '-s',
      '4,4096',
      '-n',
      '100',
      '--json',
    );
    expect(code).toBe(0);
    const document = latencyDocument.parse(JSON.parse(stdout));
    expect(document.results.map(({ byteLength, rounds }) => [byteLength, rounds])).toEqual([
      [4, 90],
      [4096, 90],
    ]);
    for (const { minimum, median, p99, maximum } of document.results) {
      expect(minimum).toBeGreaterThan(0);
      expect([minimum, median, p99, maximum]).toEqual([minimum, median, p99, maximum].sort((a, b) => a - b));
    }
  });

  it('over TCP', async () => {
    const args = ['-s', '64KiB', '--seconds', '0.02', '--transport', 'tcp', '--json'];
    const { code, stdout } = await run('bench', 'bandwidth', ...args);
    expect(code).toBe(0);
    expect(streamDocument.parse(JSON.parse(stdout)).transport).toBe('tcp');
  });

  it('multicast, with several sizes and group sizes, and queued messages', async () => {
    const args = [
      '-m',
      '2,3',
      '-s',
      '0,1,100000',
      '-a',
      'chain,binomial-pipeline',
      '-n',
      '2',
      '--burst',
      '5',
    ];
    const { code, stdout } = await run('bench', 'multicast', ...args, '--json');
    expect(code).toBe(0);
    const { results, ...route } = multicastDocument.parse(JSON.parse(stdout));
    expect(route).toMatchObject({ device: 'soft', transport: 'shm' });
    expect(results.map((r) => [r.members, r.byteLength, r.algorithm])).toEqual(
      [2, 3].flatMap((members) =>
        [0, 1, 100_000].flatMap((size) =>
          ['chain', 'binomial-pipeline'].map((algorithm) => [members, size, algorithm]),
        ),
      ),
    );
    for (const result of results) expect(result).toMatchObject({ rounds: 2, burst: 5 });
  });

  it.each(['bandwidth', 'latency', 'multicast'])('%s refuses a device that is missing', async (name) => {
    const { code, stderr } = await run('bench', name, '--device', 'mlx5_99');
    expect(stderr).toContain("ERR_RDMC_UNKNOWN_DEVICE: No device 'mlx5_99'");
    expect(code).toBe(2);
  });

  it.each([
    ['an unknown operation', ['bandwidth', '-o', 'push'], 'expected write, send or read'],
    ['a size beyond the region', ['bandwidth', '-s', '1GiB'], '--sizes'],
    ['a latency size that is not a multiple of 4', ['latency', '-s', '6'], 'multiples of 4'],
    ['hybrid', ['multicast', '-a', 'hybrid'], 'hybrid needs racks'],
    ['a group of one', ['multicast', '-m', '1'], '--members'],
    ['an unknown benchmark', ['speed'], "unknown command 'speed'"],
  ])('refuses %s with exit code 2', async (_, args, message) => {
    const { code, stderr } = await answer('bench', ...args);
    expect(code).toBe(2);
    expect(stderr).toContain(message);
  });
});
