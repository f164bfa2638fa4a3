/** What a cluster says of itself, while all members are there and when some are not. Its command line needs the built dist. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { subscription } from '@rdmc/common';
import { readShape } from '@rdmc/common/shapes';
import { until } from '@rdmc/testing';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type ClusterStatus, clusterStatus, problemsOf } from '../src/admin/status.js';
import { StatusService } from '../src/admin/status-service.js';
import { statusText } from '../src/admin/status-text.js';
import { SERVER_SAMPLES } from '../src/cli/server-samples.js';
import { Topic } from '../src/cluster/messages.js';
import { Standalone } from '../src/index.js';
import { TestCluster } from './support/cluster.js';
import { RawClient } from './support/raw-client.js';

const command = fileURLToPath(new URL('../dist/main.js', import.meta.url));
/** Default of the mesh where members come and go. */
const DEFAULT_LIVE_SILENCE_MS = 8_000;
/** Between two looks at what has no event. */
const POLL_MS = 20;

/** Runs the program; this process serves it meanwhile. */
async function kvAdmin(args: readonly string[], env: NodeJS.ProcessEnv = {}) {
  const child = spawn(process.execPath, [command, 'admin', ...args], { env: { ...process.env, ...env } });
  const [stdout, stderr, [status]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ]);
  return { stdout, stderr, status: status as number };
}

async function statusOf(client: RawClient): Promise<ClusterStatus> {
  const reply = await client.command('RDMC.ADMIN', 'STATUS');
  return readShape(clusterStatus, JSON.parse(reply.slice(reply.indexOf('\n') + 1)));
}

describe('a cluster of three', () => {
  let cluster: TestCluster;
  let client: RawClient;

  beforeAll(async () => {
    cluster = await TestCluster.start(3, { replicas: 2, powerHoldSeconds: 3600 });
    client = await RawClient.connect(cluster.servers[0]!.port);
    await client.command('MSET', ...Array.from({ length: 90 }, (_, i) => [`key:${i}`, 'v']).flat());
  });
  afterAll(() => cluster?.close());

  it('lists all servers, with their slots and keys', async () => {
    const status = await statusOf(client);
    expect(status.problems).toEqual([]);
    expect(status).toMatchObject({ askedServer: 1, isHealthy: true, unserved: [] });
    expect(status.coordinator).toMatchObject({ state: 'connected', facts: { run: 1, recoveries: [] } });
    expect(status.servers.map(({ server, state }) => [server, state])).toEqual([
      [1, 'connected'],
      [2, 'connected'],
      [3, 'connected'],
    ]);
    expect(status.servers.map(({ address }) => address!.port)).toEqual(
      cluster.servers.map(({ port }) => port),
    );
    const slots = status.servers.flatMap((each) => each.slots);
    expect(slots.sort(([one], [other]) => one - other)).toEqual([
      [0, 5460],
      [5461, 10921],
      [10922, 16383],
    ]);
    const facts = status.servers.map((each) => each.facts!);
    expect(facts.reduce((sum, { keys }) => sum + keys, 0)).toBe(90);
    for (const { lease, replicas, bytes, backup } of facts) {
      expect([lease, replicas, backup!.logs.length]).toEqual([true, 2, 2]);
      expect(bytes).toBeGreaterThan(0);
      expect(backup!.disk).toMatchObject({ holdSeconds: 3600, granted: 16, configured: 16 });
    }
    expect(new Set(facts.map(({ log }) => log)).size).toBe(3);
  });

  it('is told on the command line, as text and as JSON', async () => {
    const at = ['--connect', `127.0.0.1:1,127.0.0.1:${cluster.servers[1]!.port}`];
    const told = await kvAdmin(['status', ...at]);
    expect([told.stderr, told.status]).toEqual(['', 0]);
    expect(told.stdout).toMatch(
      /^asked server 2: slot table \d+, coordinator connected, its run 1, level 1\n/,
    );
    expect(told.stdout).toMatch(
      /\n1 +connected +\d+ +546[12] +\d+ +0\.\d +\d+\.\d +yes +2 logs +\d+\/16 +ok +\d+\.\d+\.\d+ +1 +127\.0\.0\.1:\d+\n/,
    );
    expect(told.stdout.endsWith('\nevery slot is served\n')).toBe(true);
    const json = await kvAdmin(['status', '--json', ...at]);
    expect(readShape(clusterStatus, JSON.parse(json.stdout))).toMatchObject({
      askedServer: 2,
      isHealthy: true,
    });
  });

  it('is refused inside a transaction, and other words are', async () => {
    expect(await client.pipeline(['MULTI', 'RDMC.ADMIN STATUS', 'DISCARD'])).toBe(
      '+OK\r\n-ERR Command not allowed inside a transaction\r\n+OK\r\n',
    );
    expect(await client.command('RDMC.ADMIN', 'NOSUCH')).toMatch(/^-ERR ERR_RDMC_KV_INVALID_OPTION /);
  });

  it('names the members that are not there, and the exit code says so', async () => {
    await cluster.servers[2]!.close();
    await until(async () => (await statusOf(client)).servers[2]!.state === 'absent', POLL_MS);
    await cluster.coordinator.close();
    await until(async () => (await statusOf(client)).coordinator.state === 'absent', POLL_MS);
    const { status, stdout } = await kvAdmin([
      'status',
      '--connect',
      `127.0.0.1:${cluster.servers[0]!.port}`,
    ]);
    expect(status).toBe(3);
    expect(stdout).toContain('\nPROBLEM: the coordinator is absent: it has left, or has not joined\n');
    expect(stdout).toContain('\nPROBLEM: server 3 is absent: it has left, or has not joined\n');
    expect(stdout).toMatch(/\n3 +absent +\? +\d+( +\?){10}\n/);
  });
});

describe('where the answer is an error', () => {
  it('a server that runs alone, a wrong password, and nobody', async () => {
    const alone = await Standalone.start({ port: 0, password: 'right' });
    const at = ['status', '--connect', `127.0.0.1:${alone.port}`];
    const refused = async (password?: string): Promise<string[]> => {
      const { stderr, status } = await kvAdmin(
        at,
        password === undefined ? {} : { RDMC_KV_PASSWORD: password },
      );
      return [String(status), stderr];
    };
    const match = (pattern: RegExp): unknown => expect.stringMatching(pattern);
    expect(await refused('right')).toEqual(['2', match(/^error ERR_RDMC_KV_NOT_A_CLUSTER: /)]);
    expect(await refused('wrong')).toEqual(['1', match(/^error ERR_RDMC_KV_UNAUTHENTICATED: /)]);
    expect(await refused()).toEqual(['1', match(/^error ERR_RDMC_KV_UNAUTHENTICATED: .*RDMC_KV_PASSWORD/)]);
    await alone.close();
    expect(await refused()).toEqual(['1', match(/^error ERR_RDMC_KV_UNREACHABLE: /)]);
  });
});

const release = (most: number) => ({ version: '1.2.3', levels: { least: 1, most } });
/** What a server says of itself, but for its release. */
const ownFacts = {
  log: '7',
  processId: 1,
  keys: 0,
  bytes: 0,
  logBytes: 0,
  replicas: 1,
  lease: true,
  epoch: 4,
  clients: 0,
  waitingAppends: 0,
  backup: null,
};
const server = { incarnation: 1, address: { host: '::1', port: 1 }, slots: [], state: 'connected' } as const;
/** What a coordinator says. */
const itsFacts = {
  ...release(2),
  level: 1,
  run: 2,
  moves: { isRunning: false, moved: 0, left: 0, failure: null },
  drained: [],
  removed: [],
  recoveries: [],
};

it('a connected member whose answer does not come is silent; a busy one has longer to answer than the mesh to find it lost', async () => {
  const limits: unknown[] = [];
  const request = async (_: number, topic: string, __: unknown, { timeoutMs }: { timeoutMs: number }) => {
    limits.push([topic, timeoutMs > DEFAULT_LIVE_SILENCE_MS]);
    throw Object.assign(new Error('late'), { code: 'ERR_RDMC_MESH_REQUEST_TIMEOUT' });
  };
  const peers = new Map([0, 2].map((id) => [id, { id, state: 'connected', incarnation: 1 }]));
  const service = new StatusService({
    mesh: { id: 1, incarnation: 1, peers, request, onRequest: () => subscription(() => {}) },
    coordinator: {
      lead: { member: 0, term: 1 },
      request: (topic: string, body: unknown, options: { timeoutMs: number }) =>
        request(0, topic, body, options),
    },
    table: { epoch: 1, ranges: [] },
    servers: () => [2],
    nodes: () => [],
  } as never);
  const { problems, servers } = await service.status();
  expect(servers).toMatchObject([{ server: 2, state: 'silent', facts: null }]);
  expect(problems).toEqual(expect.arrayContaining(['server 2 does not answer']));
  expect(limits).toEqual(Array(2).fill([Topic.STATUS, true]));
});

it('a server that cannot write segments of others to files says so, until it can, in its status and its metrics', async () => {
  const cluster = await TestCluster.start(2, { replicas: 1, segmentBytes: 256 * 1024 });
  onTestFinished(() => cluster.close());
  // The log of server 1 has its backup there.
  const directory = join(cluster.directory, 'server-2');
  const away = `${directory}.away`;
  renameSync(directory, away);
  const client = await RawClient.connect(cluster.servers[0]!.port);
  onTestFinished(() => client.close());
  const failure = async () => (await statusOf(client)).servers[1]!.facts!.backup!.flushFailure;
  const value = 'v'.repeat(8000);
  for (let index = 0; (await failure()) === null; index += 1)
    await client.command('SET', `k${index % 50}`, value);
  const status = await statusOf(client);
  expect(status.servers[1]!.facts!.backup!.flushFailure).toMatchObject({ code: 'ENOENT' });
  expect(status).toMatchObject({
    isHealthy: false,
    problems: [expect.stringMatching(/^server 2 .* ENOENT/)],
  });
  const samples = SERVER_SAMPLES.filter(([, name]) => name.startsWith('rdmc_kv_backup_failed'));
  const [segments, writes] = samples.map(([, , , pick]) => pick(cluster.servers[1]!.statistics()));
  expect(segments).toBeGreaterThan(0);
  expect(writes).toBeGreaterThanOrEqual(segments!);
  renameSync(away, directory);
  await until(async () => (await failure()) === null, POLL_MS);
  expect(await statusOf(client)).toMatchObject({ isHealthy: true, problems: [] });
});

it('problems are named one by one', () => {
  const facts = { ...ownFacts, ...release(2) };
  const MIB = 1024 * 1024;
  const speeds = { bytesPerSecond: 10 * MIB, flushedBytesPerSecond: 2 * MIB };
  const disk = { ...speeds, holdSeconds: 5, granted: 1, configured: 24 };
  const idle = { logs: [], buffersUsed: 3, buffers: 24, disk: null };
  const full = { code: 'ENOSPC', reason: 'no space', segments: 3, attempts: 24, seconds: 12.9 };
  const broken = { ...full, code: 'EIO', reason: 'i/o error' };
  const recovery = { log: '3', server: 9, slots: [[0, 9]] as [number, number][] };
  const found = {
    epoch: 4,
    standbys: [{ standby: 0, state: 'failed' }],
    coordinator: {
      state: 'connected',
      standby: 2,
      facts: {
        ...itsFacts,
        recoveries: [
          { ...recovery, isUnderWay: true },
          { ...recovery, isUnderWay: false },
        ],
      },
    },
    servers: [
      { ...server, server: 1, facts },
      { ...server, server: 2, facts: { ...facts, lease: false } },
      { ...server, server: 3, facts: { ...facts, epoch: 3 } },
      { ...server, server: 4, facts: null, state: 'silent' },
      { ...server, server: 5, facts: { ...facts, backup: { logs: [], buffersUsed: 0, buffers: 1, disk } } },
      { ...server, server: 6, facts: { ...facts, backup: { ...idle, flushFailure: full } } },
      { ...server, server: 7, facts: { ...facts, backup: { ...idle, flushFailure: broken } } },
    ],
    unserved: [[0, 9]] as [number, number][],
  } as const;
  const problems = problemsOf({
    ...found,
    servers: [...found.servers],
    unserved: [...found.unserved],
  } as never);
  expect(problems).toEqual([
    '10 slots have no server',
    'the log of server 9 (number 3, 10 slots) is being recovered',
    'the log of server 9 (number 3, 10 slots) waits for its server, or for its recovery',
    'server 2 has no lease: it does not answer reads',
    'server 3 has an older slot table',
    'server 4 does not answer',
    'server 5 grants 1 buffers to other servers: its disk writes 2.0 MiB/s, and its power supply holds up for 5 s',
    'server 6 cannot write 3 segments of other servers to files, for 12 s (24 attempts): free space on the disk of its ' +
      '--directory (ENOSPC: no space)',
    'server 7 cannot write 3 segments of other servers to files, for 12 s (24 attempts): repair its --directory, or drain ' +
      'it: kv admin drain 7 (EIO: i/o error)',
  ]);
  const all = { ...found, askedServer: 1, isHealthy: false, problems } as unknown as ClusterStatus;
  expect(statusText(all)).toContain('[::1]:1');
  expect(statusText(all)).toMatch(/\n6 .* 3\/24 +ENOSPC /);
  expect(statusText(all)).toContain(
    'coordinator (standby 2) connected, its run 2, level 1; former coordinator failed\n',
  );
});

describe('what an operator must do something about', () => {
  /** Servers 1 to 3 with a number of backups for each log, and what the coordinator says of moves. */
  const found = (
    replicas: number,
    itsMore: object,
    states: readonly string[] = ['connected', 'silent', 'connected'],
  ) =>
    readShape(clusterStatus, {
      askedServer: 1,
      epoch: 4,
      coordinator: { state: 'connected', standby: 0, facts: { ...itsFacts, ...itsMore } },
      standbys: [],
      servers: states.map((state, index) => ({
        ...server,
        state,
        server: index + 1,
        facts: state === 'connected' ? { ...ownFacts, ...release(2), replicas } : null,
      })),
      unserved: [],
      isHealthy: true,
      problems: [],
    });
  const silent = 'server 2 does not answer';
  const failure = { code: 'ERR_RDMC_KV_SERVER_FULL', reason: 'no room' };
  const moves = { isRunning: false, moved: 0, left: 7, failure };

  it('hand-overs that ended are a problem, and those that are tried again are told as such', () => {
    const ended = found(1, { moves });
    expect(problemsOf(ended)).toEqual([
      'slots do not move any more: ERR_RDMC_KV_SERVER_FULL: no room',
      silent,
    ]);
    expect(statusText(ended)).toContain('\n7 slots are to move\n');
    const retried = found(1, { moves: { ...moves, isRunning: true } });
    expect(problemsOf(retried)).toEqual([silent]);
    expect(statusText(retried)).toContain(
      '\n7 slots are to move; the last hand-over failed, and is tried again: ERR_RDMC_KV_SERVER_FULL: no room\n',
    );
    expect(statusText(found(1, { moves: { ...moves, left: null, failure: null } }))).toContain(
      '\n? slots are to move\n',
    );
  });

  it('too few servers for the backups of each log are a problem; those that are to go do not count', () => {
    expect(problemsOf(found(2, {}))).toEqual([silent]);
    const few = (here: number): string =>
      `there are too few servers: ${here}, without those that are to go; 3 are needed, because each log has 2 backups at other servers`;
    expect(problemsOf(found(2, { drained: [3] }))).toEqual([few(2), silent]);
    expect(problemsOf(found(2, {}, ['connected', 'failed', 'absent']))).toEqual([
      few(1),
      'server 2 is not connected',
      'server 3 is absent: it has left, or has not joined',
    ]);
  });
});

it('an upgrade that can be finalized is named, and not as a problem; a server of an earlier release has no levels', () => {
  const told = (...facts: object[]) =>
    readShape(clusterStatus, {
      askedServer: 1,
      epoch: 4,
      coordinator: { state: 'connected', standby: 0, facts: itsFacts },
      standbys: [],
      servers: facts.map((each, index) => ({
        ...server,
        server: index + 1,
        facts: { ...ownFacts, ...each },
      })),
      unserved: [],
      isHealthy: true,
      problems: [],
    });
  const may = 'every server speaks level 2: kv admin finalize raises the level of the cluster\n';
  expect(statusText(told(release(2), release(3)))).toContain(may);
  expect(statusText(told(release(2), release(3)))).toMatch(/ 1\.2\.3 +1-3 +\[::1\]:1\n/);
  expect(statusText(told(release(2), release(1)))).not.toContain(may);
  const earlier = told(release(2), {});
  expect(earlier.servers[1]!.facts).toMatchObject({ version: '?', levels: null });
  expect(statusText(earlier)).not.toContain(may);
  expect(problemsOf(earlier)).toEqual([]);
});

describe('an upgrade', () => {
  it('is finalized on the command line, where nothing is to be raised too', async () => {
    const cluster = await TestCluster.start(2, { replicas: 1 });
    try {
      const at = ['--connect', `127.0.0.1:${cluster.servers[0]!.port}`];
      const told = await kvAdmin(['finalize', ...at]);
      expect(told).toMatchObject({ stderr: '', status: 0 });
      expect(told.stdout).toBe('the cluster has level 1 already, the highest of its members\n');
      const json = await kvAdmin(['finalize', '--json', ...at]);
      expect(JSON.parse(json.stdout)).toEqual({ before: 1, level: 1 });
    } finally {
      await cluster.close();
    }
  });
});
