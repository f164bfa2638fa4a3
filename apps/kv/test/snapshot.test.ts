/** Snapshots of a cluster that is written, restored into one of another size. The command line needs the built dist. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  cpSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { readShape } from '@rdmc/common/shapes';
import { refusal, syncedDirectories, temporaryDirectory } from '@rdmc/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { clusterStatus } from '../src/admin/status.js';
import { connect } from '../src/client/connect.js';
import type { Connection } from '../src/client/connection.js';
import type { ClusterAccess } from '../src/snapshot/cluster-access.js';
import { restoreSnapshot } from '../src/snapshot/restore.js';
import { MANIFEST_NAME } from '../src/snapshot/snapshot-file.js';
import { takeSnapshot } from '../src/snapshot/take.js';
import { TestCluster } from './support/cluster.js';

const command = fileURLToPath(new URL('../dist/main.js', import.meta.url));
const KEYS = 300;
const options = { password: undefined, tls: undefined };

function accessOf(cluster: TestCluster): ClusterAccess {
  const endpoint = { host: '127.0.0.1', port: cluster.servers[0]!.port };
  return {
    connect: (to) => connect(to, options),
    status: async () => {
      const connection = await connect(endpoint, options);
      const answer = String(await connection.command('RDMC.ADMIN', 'STATUS'));
      connection.close();
      return readShape(clusterStatus, JSON.parse(answer));
    },
  };
}

/** Runs the program; this process serves it meanwhile. */
async function kvAdmin(args: readonly string[]) {
  const child = spawn(process.execPath, [command, 'admin', ...args]);
  const [stdout, stderr, [status]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ]);
  return { stdout, stderr, status: status as number };
}

/** Writes hashes whose fields are always equal, until it is told to stop. */
async function writeHashes(connection: Connection, stop: AbortSignal): Promise<void> {
  for (let round = 1; !stop.aborted; round += 1) {
    for (let i = 0; i < 20; i += 1)
      await connection.command('HSET', `hash:${i}`, 'a', String(round), 'b', String(round));
  }
}

it('the directory of a snapshot has its name on the disk', async () => {
  const top = temporaryDirectory();
  const synced = await syncedDirectories();
  const unreachable = (): Promise<never> => Promise.reject(new Error('for the test'));
  const snapshot = takeSnapshot({ status: unreachable, connect: unreachable }, join(top, 'new'));
  await expect(snapshot).rejects.toThrow('for the test');
  expect(synced).toContain(top);
});

const parent = mkdtempSync(join(tmpdir(), 'kv-snapshot-'));
let directory: string;
let taken: Awaited<ReturnType<typeof takeSnapshot>>;
let other: TestCluster;

beforeAll(async () => {
  const cluster = await TestCluster.start(3, { replicas: 1 });
  try {
    const access = accessOf(cluster);
    const [client, writer] = [
      await access.connect({ host: '127.0.0.1', port: cluster.servers[1]!.port }),
      await access.connect({ host: '127.0.0.1', port: cluster.servers[2]!.port }),
    ];
    for (let i = 0; i < KEYS; i += 1) await client.command('SET', `key:${i}`, `\u00ff${i}\r\n\u0000`);
    await client.command('SET', 'expires', 'later', 'PX', '1000000');
    await client.command('SET', 'removed', 'x');
    await client.command('DEL', 'removed');
    await client.command('HSET', 'fields', 'x', '1', '\u00fe', '\u00fd');
    await client.command('PEXPIREAT', 'fields', '99999999999999');
    for (let i = 0; i < 20; i += 1) await client.command('HSET', `hash:${i}`, 'a', '0', 'b', '0');
    directory = join(parent, 'a', 'new one');
    const stop = new AbortController();
    const writing = writeHashes(writer, stop.signal);
    taken = await takeSnapshot(access, directory);
    stop.abort();
    await writing;
    for (const each of [client, writer]) each.close();
  } finally {
    await cluster.close();
  }
  other = await TestCluster.start(4, { replicas: 1 });
}, 120_000);
afterAll(async () => {
  rmSync(parent, { recursive: true, force: true });
  await other?.close();
});

/** A copy of the snapshot, for a test that damages it. */
function copy(): string {
  const to = temporaryDirectory('kv-snapshot-copy');
  cpSync(directory, to, { recursive: true });
  return to;
}

describe('a snapshot', () => {
  it('has a file of each server and a manifest, and nothing else', () => {
    expect(taken).toMatchObject({ keys: KEYS + 22, files: 3, directory });
    expect(readdirSync(directory).sort()).toEqual([
      'server-1.kvsnap',
      'server-2.kvsnap',
      'server-3.kvsnap',
      MANIFEST_NAME,
    ]);
  });

  it('is not made in a directory with files, and not of a cluster whose slots are not served', async () => {
    await expect(takeSnapshot(accessOf(other), directory)).rejects.toEqual(
      refusal('ERR_RDMC_KV_SNAPSHOT_EXISTS'),
    );
  });

  const first = (at: string): string => join(at, 'server-1.kvsnap');
  const changed = (at: string, position: number): void => {
    const bytes = readFileSync(first(at));
    bytes[position]! ^= 1;
    writeFileSync(first(at), bytes);
  };
  it.each<[string, (at: string) => void, string]>([
    ['without its manifest', (at) => rmSync(join(at, MANIFEST_NAME)), 'ERR_RDMC_KV_SNAPSHOT_INCOMPLETE'],
    ['without a file', (at) => rmSync(first(at)), 'ERR_RDMC_KV_SNAPSHOT_INCOMPLETE'],
    ['that is cut off', (at) => truncateSync(first(at), 2000), 'ERR_RDMC_KV_SNAPSHOT_DAMAGED'],
    ['that is longer', (at) => appendFileSync(first(at), 'x'), 'ERR_RDMC_KV_SNAPSHOT_DAMAGED'],
    ['with another bit', (at) => changed(at, 5000), 'ERR_RDMC_KV_SNAPSHOT_DAMAGED'],
    ['with a file of another kind', (at) => changed(at, 0), 'ERR_RDMC_KV_SNAPSHOT_FOREIGN'],
    ['with a file of another version', (at) => changed(at, 8), 'ERR_RDMC_KV_SNAPSHOT_FOREIGN'],
    ['with a file of another snapshot', (at) => changed(at, 20), 'ERR_RDMC_KV_SNAPSHOT_FOREIGN'],
    [
      'with a manifest of another version',
      (at) => writeFileSync(join(at, MANIFEST_NAME), '{"format":2}'),
      'ERR_RDMC_KV_SNAPSHOT_FOREIGN',
    ],
    [
      'with a manifest that is none',
      (at) => writeFileSync(join(at, MANIFEST_NAME), '{'),
      'ERR_RDMC_KV_SNAPSHOT_DAMAGED',
    ],
    [
      'that lacks a file in its manifest, too',
      (at) => {
        const manifest = JSON.parse(readFileSync(join(at, MANIFEST_NAME), 'utf8'));
        manifest.files.pop();
        writeFileSync(join(at, MANIFEST_NAME), JSON.stringify(manifest));
      },
      'ERR_RDMC_KV_SNAPSHOT_INCOMPLETE',
    ],
  ])('%s is refused, and nothing is written', async (_name, harm, code) => {
    const at = copy();
    harm(at);
    await expect(restoreSnapshot(accessOf(other), at)).rejects.toEqual(refusal(code));
    const client = await connect({ host: '127.0.0.1', port: other.servers[0]!.port }, options);
    expect(await client.command('DBSIZE')).toBe(0);
    client.close();
  });

  it('is restored into a cluster of another size, with keys, fields and times, each hash as it was at one moment', async () => {
    const restored = await restoreSnapshot(accessOf(other), directory);
    expect(restored).toMatchObject({ keys: KEYS + 22, expired: 0 });
    const client = await connect({ host: '127.0.0.1', port: other.servers[3]!.port }, options);
    expect(await client.command('DBSIZE')).toBe(KEYS + 22);
    for (let i = 0; i < KEYS; i += 1)
      expect(await client.command('GET', `key:${i}`)).toBe(`\u00ff${i}\r\n\u0000`);
    expect(await client.command('HGETALL', 'fields')).toEqual(['x', '1', '\u00fe', '\u00fd']);
    expect(await client.command('PEXPIRETIME', 'fields')).toBe(99_999_999_999_999);
    expect(await client.command('PTTL', 'expires')).toBeGreaterThan(0);
    for (let i = 0; i < 20; i += 1) {
      const [, a, , b] = (await client.command('HGETALL', `hash:${i}`)) as string[];
      expect(a).toBe(b);
    }
    client.close();
    const again = restoreSnapshot(accessOf(other), directory);
    await expect(again).rejects.toEqual(refusal('ERR_RDMC_KV_NOT_EMPTY'));
  });

  it('is made and refused on the command line', async () => {
    const at = ['--connect', `127.0.0.1:${other.servers[0]!.port}`, '--json'];
    const to = join(parent, 'by command');
    const made = await kvAdmin(['snapshot', to, ...at]);
    expect([made.stderr, made.status]).toEqual(['', 0]);
    expect(JSON.parse(made.stdout)).toMatchObject({ directory: to, keys: KEYS + 22, files: 4 });
    const refused = await kvAdmin(['restore', to, ...at]);
    expect(refused.stderr).toMatch(/^error ERR_RDMC_KV_NOT_EMPTY: the cluster has 322 keys/);
    expect(refused.status).toBe(2);
  });
});
