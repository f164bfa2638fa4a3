import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { until } from '@rdmc/testing';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { ReceiveMetrics } from '../src/receive/metrics.js';
import { Receiver, sampleFile } from './support/casting.js';
import { answer, Scratch } from './support/cli.js';

let scratch: Scratch;
beforeEach(() => {
  scratch = new Scratch();
});

async function metricsAt(url: string): Promise<string> {
  const response = await fetch(url);
  expect(response.status).toBe(200);
  return response.text();
}

describe('rdmc receive --metrics', () => {
  it('does not count dry runs', async () => {
    const metrics = await ReceiveMetrics.serve({ host: '127.0.0.1', port: 0 });
    onTestFinished(() => metrics.close());
    const counted = async () =>
      (await metricsAt(metrics.url)).split('\n').filter((line) => line.startsWith('rdmc_receive_'));
    const none = await counted();
    expect(none).toContain('rdmc_receive_casts_total{outcome="failed"} 0');
    const facts = { castId: 'cast', from: 'host', files: 1, bytes: 1000, dryRun: true };
    const failure = { code: 'ERR_RDMC_SENDER_LOST', message: 'the sender is gone' };
    const counts = {
      directories: 0,
      links: 0,
      keptBytes: 0,
      resumedBytes: 0,
      unchangedFiles: 0,
      unchangedBytes: 0,
    };
    metrics.happened({ type: 'began', ...facts, encrypted: true });
    metrics.happened({ type: 'failed', ...facts, ...failure });
    metrics.happened({ type: 'began', ...facts, encrypted: true });
    const ended = { ...counts, removed: 0, seconds: 1, problems: [], problemCount: 1 };
    metrics.happened({ type: 'complete', ...facts, ...ended });
    expect(await counted()).toEqual(none);
  });

  it('counts casts, files and bytes, and the nodes of casts', async () => {
    const receiver = await Receiver.start(join(scratch.path, 'in'), ['--metrics', '0']);
    const { metrics } = await receiver.cli.event('listening');
    expect(metrics).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/metrics$/);
    const before = await metricsAt(metrics!);
    expect(before).toContain('rdmc_receive_casts_total{outcome="complete"} 0\n');
    expect(before).toContain('rdmc_receive_casts_in_progress 0\n');

    const file = sampleFile(join(scratch.path, 'file'), 300_000);
    const { code, stderr } = await answer('cast', file, '--to', receiver.name);
    expect(code, stderr).toBe(0);
    await receiver.cli.event('complete');
    const after = await metricsAt(metrics!);
    expect(after).toContain('rdmc_receive_casts_total{outcome="complete"} 1\n');
    expect(after).toContain('rdmc_receive_files_total 1\n');
    expect(after).toContain('rdmc_receive_bytes_total 300000\n');
    expect(after).toContain('rdmc_receive_missing_entries_total 0\n');
    await until(async () =>
      /rdmc_operation_duration_seconds_count\{operation="cast:receive",outcome="ok"\} 1\n/.test(
        await metricsAt(metrics!),
      ),
    );
    // Its node has closed; what it counted stays.
    await until(async () => (await metricsAt(metrics!)).includes('rdmc_nodes 0\n'));
    const completions = /^rdmc_completions_total\{node="1"\} (\d+)$/m.exec(await metricsAt(metrics!));
    expect(Number(completions?.[1])).toBeGreaterThan(0);
  });

  it('refuses an address that it cannot read, and a port that is taken', async () => {
    const wrong = await answer('receive', '--dir', scratch.path, '--metrics', 'here');
    expect(wrong).toMatchObject({ code: 2 });
    expect(wrong.stderr).toContain("--metrics: 'here' is not PORT or HOST:PORT");
    const server = createServer().listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const taken = await answer(
      'receive',
      '--listen',
      '127.0.0.1:0',
      '--dir',
      scratch.path,
      '--metrics',
      String(port),
    );
    expect(taken.code).toBe(1);
    expect(taken.stderr).toContain('ERR_RDMC_METRICS_LISTEN_FAILED');
    expect(taken.stderr).toContain(String(port));
  });
});
