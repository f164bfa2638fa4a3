/** Clusters of processes that end, as planned and not: needs the built dist. */

import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { reserveLoopbackPorts } from '@rdmc/mesh/loopback';
import { freed, temporaryDirectory, until } from '@rdmc/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LocalCluster, type MemberEvent, MemberProcess } from '../src/demo/processes.js';
import { KvCoordinator } from '../src/index.js';
import type { SalvageReport } from '../src/salvage/report.js';
import { slotOf } from '../src/store/slot.js';
import { RawClient } from './support/raw-client.js';

const command = fileURLToPath(new URL('../dist/main.js', import.meta.url));
/** Servers that poll take the processors from the other servers. */
const WITHOUT_POLLING = ['--window-ms', '0'];
/** Little memory, which takes a server less time to touch. */
const SMALL = ['--segment-mib', '4', '--segments', '16', '--buffers', '12'];
/** A look reads files that other processes write: these need the processors. */
const LOOK_EVERY_MS = 20;
let directory: string;
const clusters: LocalCluster[] = [];

beforeEach(() => {
  directory = temporaryDirectory('kv-processes');
});
afterEach(async () => {
  for (const cluster of clusters.splice(0)) await cluster.stop();
});

async function start(serverArguments: readonly string[] = []): Promise<LocalCluster> {
  const cluster = await LocalCluster.start({
    servers: 4,
    directory,
    command,
    serverArguments: [...WITHOUT_POLLING, ...serverArguments],
  });
  clusters.push(cluster);
  return cluster;
}

function kv(args: readonly string[], env: NodeJS.ProcessEnv = {}) {
  const { stdout, stderr, status } = spawnSync(process.execPath, [command, ...args], {
    encoding: 'utf8',
    env: { ...process.env, ...env },
  });
  return { stdout, stderr, status };
}

/** What the coordinator's state says of a server's log. */
function recordOf(server: number): { state: string; recoverer: number | null } {
  const text = readFileSync(join(directory, 'cluster', 'coordinator', 'state'), 'utf8');
  const { entries } = JSON.parse(text.split('\n')[1]!) as { entries: Record<string, { value: string }> };
  const logs = Object.entries(entries).filter(([key]) => key.startsWith('log/'));
  return logs.map(([, { value }]) => JSON.parse(value)).find(({ owner }) => owner === server);
}

it('a cluster whose servers are ended one after another, in the middle of a recovery, serves again', async () => {
  const members = await freed(await reserveLoopbackPorts(5));
  let isServing: () => void = () => {};
  const serving = new Promise<void>((resolve) => {
    isServing = resolve;
  });
  // A recovery waits for the lease of the server that ended: here for longer than the others take to end.
  const starting = KvCoordinator.start(
    { members, directory: join(directory, 'cluster', 'coordinator'), leaseMs: 20_000 },
    { serving: isServing },
  );
  const list = members.map(({ host, port }) => `${host}:${port}`).join(',');
  const common = ['server', '--members', list, '--directory', join(directory, 'cluster'), '--port', '0'];
  const own = [...WITHOUT_POLLING, ...SMALL];
  const servers = [1, 2, 3, 4].map(
    (id) => new MemberProcess(`server ${id}`, [...common, ...own, '--id', String(id)], command),
  );
  let isEnded = false;
  try {
    const coordinator = await starting;
    const port = await servers[0]!.until(({ ready }) => ready);
    await serving;
    const client = await RawClient.connect(port);
    const pairs = Array.from({ length: 200 }, (_, i) => [`k${i}`, `v${i}`]);
    expect(await client.command('MSET', ...pairs.flat())).toBe('+OK\r\n');
    client.close();
    await servers[0]!.kill('SIGTERM');
    const lost = await servers[1]!.until(({ memberLost }) => memberLost);
    expect(lost).toMatchObject({ member: 1, reason: expect.stringMatching(/./) });
    await until(() => recordOf(1).recoverer !== null, LOOK_EVERY_MS);
    for (const server of servers.slice(1)) await server.kill('SIGTERM');
    expect(servers.map(({ exit }) => exit)).toEqual(Array(4).fill('code 0'));
    expect(recordOf(1)).toMatchObject({ state: 'recovering' });
    isEnded = true;
    await coordinator.close();
    const again = await RawClient.connect((await start(SMALL)).ports[2]!);
    expect(await again.command('DBSIZE')).toBe(':200\r\n');
    expect(await again.command('GET', 'k199')).toBe('$4\r\nv199\r\n');
  } finally {
    for (const server of servers) await server.kill('SIGKILL');
    if (!isEnded) await (await starting).close();
  }
});

describe('the longest keys and values', () => {
  // Beside each other they just fit into an append of a log with segments of 8 MiB, which is the default.
  const [keyBytes, valueBytes] = [950_000, 1024 * 1024];

  /** Such keys, whose slots a server has, or has not. */
  function longKeys(count: number, isWanted: (slot: number) => boolean, letter: string): string[] {
    const keys: string[] = [];
    for (let number = 0; keys.length < count; number += 1) {
      const key = `${letter}${number}`.padEnd(keyBytes, letter);
      if (isWanted(slotOf(Buffer.from(key), 0, key.length))) keys.push(key);
    }
    return keys;
  }

  it('of a server that was killed with -9 are all at the others; nobody took its id while it ran', async () => {
    // Two survivors are left beside each recoverer, which open segments for what they take over.
    const cluster = await start(['--replicas', '2']);
    const second = kv([...cluster.argumentsOf('server 1'), '--directory', temporaryDirectory()]);
    expect(second.stderr).toContain('ERR_RDMC_MESH_LISTEN_FAILED');
    expect(second.status).toBe(1);
    const client = await RawClient.connect(cluster.ports[1]!);
    const range = /:(\d+)\r\n:(\d+)\r\n\*\d+\r\n\$9\r\n127\.0\.0\.1\r\n:(\d+)\r\n/g;
    const ranges = [...(await client.command('CLUSTER', 'SLOTS')).matchAll(range)];
    const own = ranges.filter(([, , , port]) => Number(port) === cluster.ports[0]);
    expect(own.length).toBeGreaterThan(0);
    const isOwn = (slot: number): boolean =>
      own.some(([, from, to]) => slot >= Number(from) && slot <= Number(to));
    const keys = [...longKeys(3, isOwn, 'a'), ...longKeys(1, (slot) => !isOwn(slot), 'b')];
    const textOf = (index: number): string => String(index).repeat(valueBytes);
    for (const [index, key] of keys.entries()) {
      expect(await client.command('SET', key, textOf(index))).toBe('+OK\r\n');
    }
    await cluster.servers[0]!.kill('SIGKILL');
    const { entries } = await cluster.coordinator.until(({ recovered }) => recovered);
    expect(entries).toBe(3);
    for (const [index, key] of keys.entries()) {
      const reply = await client.command('GET', key);
      // Not printed where they differ: that is a megabyte.
      expect(reply === `$${valueBytes}\r\n${textOf(index)}\r\n`, `key ${index}`).toBe(true);
    }
    expect(await client.command('DBSIZE')).toBe(':4\r\n');
  });
});

describe('kv salvage', () => {
  const value = 'v'.repeat(100_000);
  const keys = Array.from({ length: 300 }, (_, i) => `key:${i}`);
  const salvage = (...args: string[]) => kv(['salvage', '--directory', join(directory, 'cluster'), ...args]);

  function replicaFiles(): string[] {
    const root = join(directory, 'cluster');
    const servers = readdirSync(root).filter((name) => name.startsWith('server-'));
    return servers.flatMap((name) =>
      readdirSync(join(root, name)).filter((file) => file.endsWith('.replica')),
    );
  }

  /** Gives up a directory without a server's files, which may hold what the others do not have. */
  function expectAbsentRefused(path: string): void {
    const args = ['salvage', '--directory', path];
    rmSync(join(path, 'server-3'), { recursive: true });
    const refused = kv([...args, '--accept-loss']);
    expect(refused.stderr).toMatch(
      /^error ERR_RDMC_KV_FILES_MISSING: directories of servers 3 .*--without 3/,
    );
    expect(refused.status).toBe(1);
    expect(JSON.parse(kv([...args, '--json']).stdout)).toMatchObject({ outcome: 'incomplete', absent: [3] });
    expect(kv([...args, '--accept-loss', '--without', '3']).status).toBe(0);
  }

  it('opens a cluster whose processes were all killed with -9, with what was listed, when told so; not without files', async () => {
    const first = await start(SMALL);
    const client = await RawClient.connect(first.ports[0]!);
    for (const key of keys) expect(await client.command('SET', key, `${key} ${value}`)).toBe('+OK\r\n');
    // At least one segment of each server's log is full by now: three backups write it to files.
    await until(() => replicaFiles().length >= 12, LOOK_EVERY_MS);
    const locked = salvage();
    expect(locked.stderr).toContain('ERR_RDMC_STATE_LOCKED');
    expect(locked.status).toBe(1);
    await Promise.all([first.coordinator, ...first.servers].map((member) => member.kill('SIGKILL')));

    const copy = join(directory, 'copy');
    cpSync(join(directory, 'cluster'), copy, { recursive: true });
    expectAbsentRefused(copy);

    const dry = salvage('--json');
    expect([dry.stderr, dry.status]).toEqual(['', 3]);
    const report = JSON.parse(dry.stdout) as SalvageReport;
    expect(report).toMatchObject({ outcome: 'incomplete', absent: [] });
    expect(report.directories.map(({ server }) => server)).toEqual([1, 2, 3, 4]);
    expect(report.logs.length).toBe(4);
    expect(report.logs.every(({ isEndMissing, segments }) => isEndMissing && segments.length > 0)).toBe(true);
    const listed = report.logs.reduce((sum, log) => sum + log.keys, 0);
    expect(listed).toBeGreaterThan(0);
    expect(listed).toBeLessThan(keys.length);
    const text = salvage();
    expect(text.status).toBe(3);
    expect(text.stdout).toMatch(/log \d+ of server 4, slots .*: INCOMPLETE\n {2}can be recovered: \d+ keys/);
    expect(text.stdout).toContain('Nothing was changed.');

    const accepted = salvage('--accept-loss');
    expect([accepted.stderr, accepted.status]).toEqual(['', 0]);
    expect(accepted.stdout).toContain('The missing entries were given up.');
    const second = await start(SMALL);
    const again = await RawClient.connect(second.ports[0]!);
    expect(await again.command('DBSIZE')).toBe(`:${listed}\r\n`);
    let found = 0;
    for (const key of keys) {
      const reply = await again.command('GET', key);
      if (reply !== '$-1\r\n') found += 1;
      expect(['$-1\r\n', `$${key.length + 1 + value.length}\r\n${key} ${value}\r\n`]).toContain(reply);
    }
    expect(found).toBe(listed);
    expect(await again.command('SET', 'new', '1')).toBe('+OK\r\n');
  });

  it('says what to name where there is nothing', () => {
    const nothing = salvage();
    expect(nothing.stderr).toMatch(/^error ERR_RDMC_KV_NOTHING_TO_SALVAGE: .*--directory/);
    expect(nothing.status).toBe(2);
  });
});

describe('what is refused on the command line', () => {
  const members = ['--members', '127.0.0.1:1,127.0.0.1:2', '--id', '1'];
  it.each([
    ['a host beyond loopback without a password', ['--replicas', '0', '--host', '0.0.0.0'], {}],
    ['a password without a key', members, { RDMC_KV_PASSWORD: 'secret' }],
    ['a member beyond loopback without a key', ['--members', '127.0.0.1:1,10.0.0.1:2', '--id', '1'], {}],
  ])('%s', (_, args, env) => {
    const { stderr, status } = kv(['server', ...args, '--port', '0'], env);
    expect(stderr).toMatch(/^error ERR_RDMC_KV_UNPROTECTED: /);
    expect(status).toBe(2);
  });

  it('endpoints of etcd that are not URLs, by the coordinator and by salvage', () => {
    const coordinator = ['coordinator', '--members', '127.0.0.1:1,127.0.0.1:2', '--directory', directory];
    for (const args of [coordinator, ['salvage']]) {
      const { stderr, status } = kv([...args, '--etcd', 'ftp://host']);
      expect(stderr).toMatch(/^error ERR_RDMC_INVALID_OPTION: EtcdStore.open: /);
      expect(status).toBe(2);
    }
  });

  it('a command that does not exist, and an option that the server would not use', () => {
    const unknown = kv(['servers']);
    expect(unknown.stderr).toMatch(/^error: unknown command 'servers'\n[\s\S]*see kv --help/);
    expect(unknown.status).toBe(2);
    const unused = kv(['server', '--replicas', '0', '--port', '0', '--id', '1']);
    expect(unused.stderr).toMatch(/^error ERR_RDMC_KV_INVALID_OPTION: --id is for a server of a cluster/);
    expect(unused.status).toBe(2);
  });

  it('a key file that others can read', () => {
    const path = join(directory, 'key');
    writeFileSync(path, '0123456789abcdef'.repeat(2));
    chmodSync(path, 0o644);
    const { stderr, status } = kv(['server', ...members, '--key-file', path]);
    expect(stderr).toContain(
      `ERR_RDMC_KV_INVALID_KEY: others can read or change the key file ${path} (mode 0644)`,
    );
    expect(status).toBe(2);
  });
});

const EXPIRED = '-CLUSTERDOWN ERR_RDMC_LEASE_EXPIRED';
/** Between two looks at what has no event. */
const POLL_MS = 20;

describe('members that come and go', () => {
  /** Starts a member of a cluster again, with its own files. */
  function again(cluster: LocalCluster, name: string): MemberProcess {
    const member = new MemberProcess(name, cluster.argumentsOf(name), command);
    restarted.push(member);
    return member;
  }
  const restarted: MemberProcess[] = [];
  afterEach(async () => {
    for (const member of restarted.splice(0)) await member.kill('SIGKILL');
  });

  /** What a server answers when it holds a lease again, and knows of a server for every slot. */
  async function answered(client: RawClient, ...words: string[]): Promise<string> {
    let reply = '';
    await until(async () => {
      reply = await client.command(...words);
      return !/^-CLUSTERDOWN |^-TRYAGAIN ERR_RDMC_KV_SLOTS_MOVE/.test(reply);
    }, POLL_MS);
    return reply;
  }

  const clientsOf = (ports: readonly number[]) => Promise.all(ports.map((port) => RawClient.connect(port)));

  /** Kills a server and the coordinator, and starts both again; returns the new processes. */
  async function loseBoth(cluster: LocalCluster, client: RawClient, keys: readonly string[]) {
    const victim = cluster.servers[3]!;
    await Promise.all([cluster.coordinator, victim].map((member) => member.kill('SIGKILL')));
    const coordinator = again(cluster, 'the coordinator');
    // The server returns at once: it gets its slots again.
    const back = again(cluster, 'server 4');
    const { entries } = await coordinator.until(({ recovered }) => recovered);
    expect(entries).toBeGreaterThan(0);
    const port = await back.until(({ ready }) => ready);
    await coordinator.until(({ serving }) => serving);
    for (const key of keys) expect(await answered(client, 'GET', key)).toBe(`$${key.length}\r\n${key}\r\n`);
    return { coordinator, back, port };
  }

  /** Kills the coordinator; writes go on, reads do not. Returns the process that follows, when it serves. */
  async function loseCoordinator(
    cluster: LocalCluster,
    coordinator: MemberProcess,
    servers: readonly MemberProcess[],
    clients: readonly RawClient[],
  ): Promise<MemberProcess> {
    const seen = servers.map(({ eventCount }) => eventCount);
    await coordinator.kill('SIGKILL');
    for (const [index, server] of servers.entries()) {
      const isLost = ({ memberLost }: MemberEvent) => memberLost?.member === 0 || undefined;
      await server.until(isLost, seen[index]);
    }
    // Through every server, to keys of all of them.
    for (const [index, client] of clients.entries()) {
      for (let i = 0; i < 50; i += 1) {
        expect(await client.command('SET', `k${index}:${i}`, `v${i}`)).toBe('+OK\r\n');
      }
    }
    // Reads are refused when the leases are over.
    const isRefused = async () => (await clients[0]!.command('GET', 'k0:0')).startsWith(EXPIRED);
    await until(isRefused, POLL_MS);
    const next = again(cluster, 'the coordinator');
    await next.until(({ serving }) => serving);
    for (const [index, client] of clients.entries()) {
      for (let i = 10; i < 50; i += 1)
        expect(await answered(client, 'GET', `k${index}:${i}`)).toBe(`$3\r\nv${i}\r\n`);
    }
    return next;
  }

  it('the coordinator is killed with -9, with a server and alone: what follows it recovers, no other server ends, and writes go on', async () => {
    const cluster = await start(['--replicas', '2', ...SMALL]);
    const [first] = await clientsOf(cluster.ports.slice(0, 1));
    const keys = Array.from({ length: 200 }, (_, i) => `key${i}`);
    expect(await first!.command('MSET', ...keys.flatMap((key) => [key, key]))).toBe('+OK\r\n');
    const { coordinator, back, port } = await loseBoth(cluster, first!, keys);
    const servers = [...cluster.servers.slice(0, 3), back];
    const clients = await clientsOf([...cluster.ports.slice(0, 3), port]);
    const next = await loseCoordinator(cluster, coordinator, servers, clients);
    expect(servers.map(({ exit }) => exit)).toEqual(Array(4).fill(undefined));

    // The run that follows also recovers a server that dies later, which returns and is a backup again.
    await back.kill('SIGKILL');
    await next.until(({ recovered }) => recovered);
    const last = again(cluster, 'server 4');
    const lastPort = await last.until(({ ready }) => ready);
    const seen = next.eventCount;
    await cluster.servers[2]!.kill('SIGKILL');
    await next.until(({ recovered }) => recovered, seen);
    const [client] = await clientsOf([lastPort]);
    expect(await answered(client!, 'GET', 'k3:49')).toBe('$3\r\nv49\r\n');
    expect(await answered(client!, 'DBSIZE')).toBe(':400\r\n');
    expect(last.exit).toBeUndefined();
  });
});
