/** Servers that redirect clients to the servers of their keys, and clients that follow. */
import { Cluster } from 'ioredis';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { slotOf } from '../src/store/slot.js';
import { TestCluster } from './support/cluster.js';
import { RawClient } from './support/raw-client.js';

let cluster: TestCluster;
let clients: RawClient[];

beforeAll(async () => {
  cluster = await TestCluster.start(3, { replicas: 2, redirects: true });
  clients = await Promise.all(cluster.servers.map(({ port }) => RawClient.connect(port)));
});
afterAll(async () => {
  for (const client of clients ?? []) client.close();
  await cluster?.close();
});

const slot = (key: string): number => slotOf(Buffer.from(key), 0, key.length);

/** The client that is redirected to none, and the others' replies. */
async function sorted(...words: string[]): Promise<{ replies: string[]; redirections: string[] }> {
  const all = await Promise.all(clients.map((client) => client.command(...words)));
  const isMoved = (reply: string): boolean => reply.startsWith('-MOVED ');
  return { replies: all.filter((reply) => !isMoved(reply)), redirections: all.filter(isMoved) };
}

it('a command whose keys are in one slot is done by its server only; the others name the server', async () => {
  for (let i = 0; i < 20; i += 1) {
    const key = `{key:${i}}`;
    const { replies, redirections } = await sorted('MSET', `${key}a`, '1', `${key}b`, '2');
    expect(replies).toEqual(['+OK\r\n']);
    expect(redirections.length).toBe(2);
    expect(new Set(redirections).size).toBe(1);
    const [, to, port] = /^-MOVED (\d+) 127\.0\.0\.1:(\d+)\r\n$/.exec(redirections[0]!)!;
    expect(Number(to)).toBe(slot(key));
    const index = cluster.servers.findIndex((server) => server.port === Number(port));
    expect(await clients[index]!.command('GET', `${key}b`)).toBe('$1\r\n2\r\n');
  }
});

it('commands with keys in several slots, and transactions, are forwarded', async () => {
  for (const client of clients) {
    expect(await client.command('MSET', 'a', '1', 'b', '2', 'c', '3', 'd', '4')).toBe('+OK\r\n');
    expect(await client.pipeline(['MULTI', 'INCR n', 'EXEC'])).toMatch(
      /^\+OK\r\n\+QUEUED\r\n\*1\r\n:\d\r\n$/,
    );
  }
  const { replies } = await sorted('GET', 'n');
  expect(replies).toEqual(['$1\r\n3\r\n']);
});

it('a client of clusters follows', async () => {
  const client = new Cluster([{ host: '127.0.0.1', port: cluster.servers[0]!.port }]);
  try {
    for (let i = 0; i < 50; i += 1) expect(await client.set(`followed:${i}`, `${i}`)).toBe('OK');
    for (let i = 0; i < 50; i += 1) expect(await client.get(`followed:${i}`)).toBe(`${i}`);
  } finally {
    client.disconnect();
  }
});
