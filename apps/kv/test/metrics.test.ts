/** Needs the built dist. */

import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { reserveLoopbackPorts } from '@rdmc/mesh/loopback';
import { temporaryDirectory, watchedTrace } from '@rdmc/testing';
import { expect, it, onTestFinished } from 'vitest';
import { COORDINATOR_SAMPLES, CoordinatorCounters } from '../src/cli/coordinator-samples.js';
import { LocalCluster, MemberProcess } from '../src/demo/processes.js';
import { SLOTS } from '../src/limits.js';
import { TestCluster } from './support/cluster.js';
import { RawClient } from './support/raw-client.js';

const SEGMENT_BYTES = 4 << 20;
const command = fileURLToPath(new URL('../dist/main.js', import.meta.url));

async function metricsAt(url: string): Promise<string> {
  const response = await fetch(url);
  expect(response.headers.get('content-type')).toContain('version=0.0.4');
  return response.text();
}

/** The value of a sample; undefined if it is missing. */
function valueIn(text: string, sample: string): number | undefined {
  const line = text.split('\n').find((each) => each.startsWith(`${sample} `));
  return line === undefined ? undefined : Number(line.slice(sample.length + 1));
}

it('a server alone serves its numbers', async () => {
  const server = new MemberProcess(
    'server',
    [
      'server',
      '--replicas',
      '0',
      '--port',
      '0',
      '--metrics',
      '127.0.0.1:0',
      '--slowlog-log-slower-than',
      '0',
    ],
    command,
  );
  onTestFinished(() => server.kill('SIGTERM').then(() => {}));
  const url = await server.until(({ metrics }) => metrics);
  const client = await RawClient.connect(await server.until(({ ready }) => ready));
  for (const key of ['a', 'b', 'a']) expect(await client.command('SET', key, '1')).toBe('+OK\r\n');
  const text = await metricsAt(url);
  expect(valueIn(text, 'rdmc_kv_keys')).toBe(2);
  // The client sends an ECHO behind each command, to see the end of the reply.
  expect(valueIn(text, 'rdmc_kv_commands_total')).toBe(6);
  expect(valueIn(text, 'rdmc_kv_clients')).toBe(1);
  expect(valueIn(text, 'rdmc_kv_start_time_seconds')).toBeGreaterThan(1.7e9);
  expect(valueIn(text, 'rdmc_kv_connections_total')).toBe(1);
  expect(valueIn(text, 'rdmc_kv_refused_connections_total')).toBe(0);
  expect(valueIn(text, 'rdmc_kv_slow_commands_total')).toBe(6);
  expect(valueIn(text, 'rdmc_kv_waiting_appends')).toBe(0);
  expect(valueIn(text, 'rdmc_kv_replication_lag_seconds')).toBe(0);
  expect(valueIn(text, 'rdmc_kv_replication_wait_seconds_total')).toBe(0);
  expect(valueIn(text, 'rdmc_kv_slots')).toBe(SLOTS);
  expect(valueIn(text, 'rdmc_kv_unserved_slots')).toBe(0);
  expect(valueIn(text, 'rdmc_kv_lease_valid')).toBe(1);
  expect(valueIn(text, 'rdmc_kv_log_bytes')).toBe(0);
  expect(valueIn(text, 'rdmc_kv_backup_buffers')).toBeUndefined();
  client.close();
});

it('a server of a cluster serves the metrics of its node too', async () => {
  const directory = temporaryDirectory('kv-metrics');
  const cluster = await LocalCluster.start({
    servers: 2,
    directory,
    command,
    serverArguments: ['--metrics', '0', '--replicas', '1', '--segment-mib', '4', '--buffers', '12'],
  });
  onTestFinished(() => cluster.stop());
  const urls = await Promise.all(cluster.servers.map((server) => server.until(({ metrics }) => metrics)));
  // One of the two servers has each of the keys, and its writes wait for the backup.
  const client = await RawClient.connect(cluster.ports[0]!);
  for (const key of ['a', 'b', 'c', 'd']) expect(await client.command('SET', key, '1')).toBe('+OK\r\n');
  client.close();
  const texts = await Promise.all(urls.map(metricsAt));
  const waits = texts.map((text) => valueIn(text, 'rdmc_kv_replication_wait_seconds_total')!);
  expect(Math.max(...waits)).toBeGreaterThan(0);
  const sums = (sample: string): number =>
    texts.reduce((sum, text) => sum + valueIn(text, `rdmc_kv_${sample}`)!, 0);
  expect(sums('slots')).toBe(SLOTS);
  expect(sums('unserved_slots')).toBe(0);
  // Each server has the segment that it fills, and maybe the next one, with a replica at the other server.
  expect(sums('log_bytes')).toBeGreaterThanOrEqual(2 * SEGMENT_BYTES);
  expect(sums('log_live_bytes')).toBeGreaterThan(0);
  expect(sums('log_limit_bytes')).toBe(2 * 128 * SEGMENT_BYTES);
  expect([sums('lease_valid'), sums('backup_logs'), sums('backup_buffers')]).toEqual([2, 2, 24]);
  expect(sums('backup_buffers_used')).toBeGreaterThanOrEqual(2);
  for (const [index, url] of urls.entries()) {
    const text = await metricsAt(url);
    expect(valueIn(text, 'rdmc_nodes')).toBe(1);
    expect(valueIn(text, `rdmc_mesh_peers{node="${index + 1}",state="connected"}`)).toBe(2);
    expect(valueIn(text, `rdmc_completions_total{node="${index + 1}"}`)).toBeGreaterThanOrEqual(0);
    expect(valueIn(text, 'rdmc_operation_duration_seconds_count{operation="kv:start",outcome="ok"}')).toBe(1);
  }
});

it('a coordinator serves its numbers, also while it waits for the servers', async () => {
  const members = (await reserveLoopbackPorts(2)).map(({ host, port, server }) => {
    server.close();
    return `${host}:${port}`;
  });
  const directory = temporaryDirectory('kv-metrics');
  const args = ['--members', members.join(), '--directory', directory, '--metrics', '127.0.0.1:0'];
  const coordinator = new MemberProcess('the coordinator', ['coordinator', ...args], command);
  onTestFinished(() => coordinator.kill('SIGKILL').then(() => {}));
  const text = await metricsAt(await coordinator.until(({ metrics }) => metrics));
  const names = text.split('\n').flatMap((line) => /^(rdmc_kv_\w+) /.exec(line)?.[1] ?? []);
  expect(names).toEqual(COORDINATOR_SAMPLES.map(([, name]) => name));
});

it('the numbers of a coordinator are those of its events', () => {
  const counters = new CoordinatorCounters();
  const lines: string[] = [];
  const events = counters.counting({
    balanced: () => lines.push('balanced'),
    moved: () => lines.push('moved'),
  });
  const log = { logId: '3', server: 2 };
  events.leading!(4);
  events.recovered!({ ...log, entries: 7, milliseconds: 250 });
  events.failed!({ ...log, code: 'ERR_RDMC_LOG_FULL', reason: 'full' });
  for (const slots of [64, 6]) events.moved!({ source: 1, target: 2, slots });
  events.notMoved!({ source: 1, target: 2, code: 'ERR_RDMC_KV_SERVER_FULL', reason: 'full' });
  events.memberLost!({ type: 'lost', member: 2, reason: 'silent' });
  events.memberLost!({ type: 'left', member: 3, reason: '' });
  events.balanced!();
  expect(lines).toEqual(['moved', 'moved', 'balanced']);
  const values = (): (number | undefined)[] =>
    COORDINATOR_SAMPLES.map(([, , , pick]) => pick(counters.statistics()));
  expect(values()).toEqual([4, 1, 0.25, 1, 70, 1, 1]);
  events.waiting!({ reason: undefined });
  expect(values()[0]).toBe(0);
});

it('refuses an address that it cannot read', () => {
  const { stderr, status } = spawnSync(
    process.execPath,
    [command, 'server', '--replicas', '0', '--metrics', 'x:y'],
    {
      encoding: 'utf8',
    },
  );
  expect(status).toBe(2);
  expect(stderr).toContain("'x:y' is not PORT or HOST:PORT");
});

it('traces the starts of servers, and takeovers', async () => {
  const [starts, takeovers] = [watchedTrace('@rdmc/kv:start'), watchedTrace('@rdmc/kv:takeover')];
  const cluster = await TestCluster.start(4, { replicas: 2 });
  onTestFinished(() => cluster.close());
  expect(starts).toEqual(cluster.servers.map((result, index) => ({ id: index + 1, replicas: 2, result })));
  const recovered = cluster.recovered(1);
  await cluster.servers[3]!.close();
  await recovered;
  const attempt = { id: expect.any(Number), takeover: expect.any(Number), logId: expect.any(String) };
  // An attempt that fails is traced too, and followed by another one.
  expect(takeovers).toMatchObject([
    ...cluster.failures.map(() => ({ ...attempt, error: expect.any(Error) })),
    { ...attempt, result: { entries: 0 } },
  ]);
});
