import { afterAll, beforeAll, expect, it } from 'vitest';
import { TestCluster } from './support/cluster.js';
import { RawClient } from './support/raw-client.js';

const VALUE = 'x'.repeat(64 * 1024);
let cluster: TestCluster;
let client: RawClient;

beforeAll(async () => {
  // 10 segments of 4 MiB are the least that a log with cleaning may have.
  cluster = await TestCluster.start(4, { maxSegments: 10, buffers: 64 });
  client = await RawClient.connect(cluster.servers[0]!.port);
});
afterAll(() => cluster?.close());

/** Twice what the log holds: every segment is cleaned. */
const OVERWRITES = 1280;

it('a log of 40 MiB takes 80 MiB of overwrites', async () => {
  for (let i = 0; i < OVERWRITES; i += 1) {
    expect(await client.command('SET', `{tag}${i % 64}`, `${i}${VALUE}`)).toBe('+OK\r\n');
  }
  for (let i = 0; i < 64; i += 1) {
    const reply = await client.command('GET', `{tag}${i}`);
    expect(reply.slice(0, 20)).toContain(`\r\n${OVERWRITES - 64 + i}x`);
  }
});

it('a log of 40 MiB takes 80 MiB of overwrites of one key, by clients that do not wait for each other', async () => {
  const clients = await Promise.all(
    Array.from({ length: 4 }, () => RawClient.connect(cluster.servers[0]!.port)),
  );
  const overwrite = async (writer: RawClient): Promise<void> => {
    for (let i = 0; i < OVERWRITES / clients.length; i += 1)
      expect(await writer.command('SET', '{tag}0', VALUE)).toBe('+OK\r\n');
  };
  await Promise.all(clients.map(overwrite));
  for (const each of clients) each.close();
});

it('a full log refuses what it cannot hold, still removes, and has room again', async () => {
  let stored = 0;
  let reply = '+OK\r\n';
  while (reply === '+OK\r\n' && stored < 2000) {
    reply = await client.command('SET', `{tag}more:${stored}`, VALUE);
    if (reply === '+OK\r\n') stored += 1;
  }
  expect(reply).toMatch(/^-OOM ERR_RDMC_LOG_FULL /);
  expect(await client.command('STRLEN', `{tag}more:${stored - 1}`)).toBe(`:${VALUE.length}\r\n`);
  expect(await client.command('EXISTS', `{tag}more:${stored}`)).toBe(':0\r\n');
  const other = await RawClient.connect(cluster.servers[0]!.port);
  for (let i = 0; i < stored; i += 1) {
    // The other client's write is in the same turn, or waits for room before the removal.
    const [removed, written] = await Promise.all([
      client.command('DEL', `{tag}more:${i}`),
      other.command('SET', '{tag}other', VALUE),
    ]);
    expect(removed).toBe(':1\r\n');
    expect(written).toMatch(/^(\+OK|-OOM ERR_RDMC_LOG_FULL )/);
  }
  other.close();
  // Segments are freed at the backups as well before they are used again.
  do reply = await client.command('SET', '{tag}again', VALUE);
  while (reply !== '+OK\r\n');
  expect(await client.command('STRLEN', '{tag}again')).toBe(`:${VALUE.length}\r\n`);
});
