/** Restores into servers whose answers the test decides. */
import { Buffer } from 'node:buffer';
import { temporaryDirectory } from '@rdmc/testing';
import { expect, it, vi } from 'vitest';
import type { ClusterStatus } from '../src/admin/status.js';
import type { Connection } from '../src/client/connection.js';
import { type Reply, ReplyReader } from '../src/client/reply-reader.js';
import { KvError } from '../src/errors.js';
import { MAX_ARGUMENTS, SLOTS } from '../src/limits.js';
import { NoLog } from '../src/log/no-log.js';
import { RequestParser } from '../src/resp/parser.js';
import type { ClusterAccess } from '../src/snapshot/cluster-access.js';
import { restoreSnapshot } from '../src/snapshot/restore.js';
import { SlotServers } from '../src/snapshot/slot-servers.js';
import { SnapshotService } from '../src/snapshot/snapshot-service.js';
import { takeSnapshot } from '../src/snapshot/take.js';
import { CommandRunner } from './support/command-runner.js';
import { encodeCommand } from './support/encode.js';
import { contentOf, slotOfKey } from './support/recorded-log.js';

const NEVER = 99_999_999_999_999;

/** The one of the smallest segments, 4 MiB. */
class SmallLog extends NoLog {
  override readonly maxAppendBytes = 1024 * 1024 - 16;
}

/** A server with the smallest log, and what it answers before it runs a command: undefined: nothing. */
class FakeServer {
  readonly runner = new CommandRunner(new SmallLog());
  readonly received: string[][] = [];
  intercept: (words: readonly string[]) => string | undefined = () => undefined;
  isLost = false;

  get store() {
    return this.runner.store;
  }

  connection(): Connection {
    const batch = async (bytes: Buffer, count: number): Promise<Reply[]> => {
      if (this.isLost) throw new KvError('ERR_RDMC_KV_MEMBER_LOST', 'lost');
      const reader = new ReplyReader();
      for (const words of wordsIn(bytes)) reader.push(Buffer.from(this.#answer(words), 'latin1'));
      return Array.from({ length: count }, () => reader.next()!);
    };
    const command = async (...words: string[]): Promise<Reply> => {
      if (words[0] !== 'DBSIZE') return this.#page(words.slice(2).map(Number));
      return this.store.keyspace.size;
    };
    return { batch, command, close() {} } as unknown as Connection;
  }

  #answer(words: string[]): string {
    this.received.push(words);
    return this.intercept(words) ?? this.runner.run(...words);
  }

  async #page([slot, after, to]: number[]): Promise<string> {
    const table = { owner: () => 1, epoch: 1 };
    const service = new SnapshotService({ self: 1, store: this.store, table, lease: { valid: true } });
    return (await service.page({ slot: slot!, after: after! }, to)).toString('latin1');
  }
}

function* wordsIn(bytes: Buffer): Generator<string[], void> {
  const parser = new RequestParser();
  parser.feed(bytes);
  while (parser.next()) {
    const { arguments: args } = parser;
    yield Array.from({ length: args.count }, (_, index) => args.string(index));
  }
}

/** Servers at ports from 1 up. The status, which is read again and again, names the owners of all slots. */
class FakeCluster implements ClusterAccess {
  readonly servers: FakeServer[];
  owner = 1;
  reads = 0;

  constructor(count: number) {
    this.servers = Array.from({ length: count }, () => new FakeServer());
  }

  async status(): Promise<ClusterStatus> {
    this.reads += 1;
    const servers = this.servers.map((_, index) => ({
      server: index + 1,
      slots: index + 1 === this.owner ? [[0, SLOTS - 1]] : [],
      address: { host: 'host', port: index + 1 },
    }));
    return { servers } as unknown as ClusterStatus;
  }

  async connect({ port }: { port: number }): Promise<Connection> {
    return this.servers[port - 1]!.connection();
  }
}

/** A snapshot of the keys that commands make. */
async function snapshotOf(...commands: string[][]): Promise<string> {
  const cluster = new FakeCluster(1);
  for (const words of commands) cluster.servers[0]!.runner.run(...words);
  const directory = temporaryDirectory('kv-restore');
  await takeSnapshot(cluster, directory);
  return directory;
}

function expiryOf({ store }: FakeServer, key: string): number | undefined {
  return store.keyspace.get(slotOfKey(key), key)?.expiresAt;
}

function countersOf(key: string, count: number): string[][] {
  return Array.from({ length: count / 500 }, (_, at) => [
    'HSET',
    key,
    ...Array.from({ length: 500 }, (__, index) => [`u${500 * at + index}`, '1']).flat(),
  ]);
}

it.each<[string, string, number]>([
  ['with a long key', 'app:production:counters:visits-per-user:2026-11-29:region-eu', 12_000],
  ['with many short fields', 'k', 40_000],
])('a hash %s is restored in commands that the smallest log takes', async (_what, key, count) => {
  const directory = await snapshotOf(...countersOf(key, count), ['PEXPIREAT', key, String(NEVER)]);
  const cluster = new FakeCluster(1);
  const [server] = cluster.servers;
  await restoreSnapshot(cluster, directory);
  expect((contentOf(server!.store).get(key) as Map<string, string>).size).toBe(count);
  expect(expiryOf(server!, key)).toBe(NEVER);
  expect(Math.max(...server!.received.map(({ length }) => length))).toBeLessThan(MAX_ARGUMENTS / 8);
});

it.each([
  ['TRYAGAIN', 'TRYAGAIN ERR_RDMC_LOG_BACKPRESSURE later'],
  ['UNKNOWN', 'UNKNOWN ERR_RDMC_KV_OUTCOME_UNKNOWN done, or not'],
])('a hash has its expiry where the answer to its fields was %s', async (_what, refusal) => {
  const directory = await snapshotOf(['HSET', 'h', 'a', '1'], ['PEXPIREAT', 'h', String(NEVER)]);
  const cluster = new FakeCluster(1);
  const [server] = cluster.servers;
  let refusals = 1;
  server!.intercept = ([name]) => {
    if (name !== 'HSET' || refusals === 0) return undefined;
    refusals -= 1;
    return `-${refusal}\r\n`;
  };
  await restoreSnapshot(cluster, directory);
  expect(expiryOf(server!, 'h')).toBe(NEVER);
});

it('a slot that moves is restored at the server that its former server names', async () => {
  const keys = Array.from({ length: 20 }, (_, index) => `key:${index}`);
  const directory = await snapshotOf(
    ...keys.map((key) => ['SET', key, 'value']),
    ['HSET', 'key:hash', 'a', '1'],
    ['PEXPIREAT', 'key:hash', String(NEVER)],
  );
  const cluster = new FakeCluster(2);
  const [first, second] = cluster.servers;
  first!.intercept = ([, key]) => `-MOVED ${slotOfKey(key!)} host:2\r\n`;
  await restoreSnapshot(cluster, directory);
  expect([...contentOf(second!.store).keys()].sort()).toEqual([...keys, 'key:hash'].sort());
  expect(expiryOf(second!, 'key:hash')).toBe(NEVER);
  expect(cluster.reads).toBe(1);
});

it('the server is asked again when two name each other, until one has the slot', async () => {
  const directory = await snapshotOf(['SET', 'key', 'value']);
  const cluster = new FakeCluster(2);
  const [first, second] = cluster.servers;
  const moved = (server: number): string => `-MOVED ${slotOfKey('key')} host:${server}\r\n`;
  first!.intercept = () => moved(2);
  second!.intercept = () => (second!.received.length < 3 ? moved(1) : undefined);
  await restoreSnapshot(cluster, directory);
  expect(contentOf(second!.store).get('key')).toBe('value');
});

it('the slots of a server that is lost are restored at the one that the status names then', async () => {
  const directory = await snapshotOf(['SET', 'key', 'value']);
  const cluster = new FakeCluster(2);
  const [first, second] = cluster.servers;
  const { status } = cluster;
  cluster.status = async () => {
    const answer = await status.call(cluster);
    cluster.owner = 2;
    first!.isLost = true;
    return answer;
  };
  await restoreSnapshot(cluster, directory);
  expect(contentOf(second!.store).get('key')).toBe('value');
});

it('nothing is sent any more, and no connection is made, when the restore has ended', async () => {
  const cluster = new FakeCluster(1);
  const [server] = cluster.servers;
  const servers = await SlotServers.connect(cluster);
  const connect = vi.spyOn(cluster, 'connect');
  server!.intercept = () => {
    servers.close();
    server!.isLost = true;
    return '-TRYAGAIN ERR_RDMC_LOG_BACKPRESSURE later\r\n';
  };
  const bytes = encodeCommand(['SET', 'key', 'value']);
  await expect(servers.send([{ slot: slotOfKey('key'), bytes }])).rejects.toThrow();
  expect([server!.received.length, connect.mock.calls.length]).toEqual([1, 0]);
});
