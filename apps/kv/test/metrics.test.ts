/** Needs the built dist. */

import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { temporaryDirectory, watchedTrace } from '@rdmc/testing';
import { expect, it, onTestFinished } from 'vitest';
import { LocalCluster, MemberProcess } from '../src/demo/processes.js';
import { TestCluster } from './support/cluster.js';
import { RawClient } from './support/raw-client.js';

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
  for (const [index, url] of urls.entries()) {
    const text = await metricsAt(url);
    expect(valueIn(text, 'rdmc_nodes')).toBe(1);
    expect(valueIn(text, `rdmc_mesh_peers{node="${index + 1}",state="connected"}`)).toBe(2);
    expect(valueIn(text, `rdmc_completions_total{node="${index + 1}"}`)).toBeGreaterThanOrEqual(0);
    expect(valueIn(text, 'rdmc_operation_duration_seconds_count{operation="kv:start",outcome="ok"}')).toBe(1);
  }
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
