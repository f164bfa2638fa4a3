import { setTimeout as delay } from 'node:timers/promises';
import { type ClientTls, Connection } from '../client/connection.js';
import type { Reply } from '../client/reply-reader.js';
import { KvError } from '../errors.js';
import { encodeCommand } from '../resp/encode.js';
import { type CoordinatorLoss, loseCoordinator } from './lose-coordinator.js';
import { type LocalCluster, type MemberEvent, withLocalCluster } from './processes.js';
import { returnServer, type ServerReturn } from './return-server.js';

export interface DemoOptions {
  readonly servers: number;
  readonly keys: number;
  /** More arguments of `kv server`. */
  readonly serverArguments?: readonly string[];
  /** Undefined: without TLS. */
  readonly tls?: ClientTls | undefined;
}

export interface DemoResult {
  readonly acknowledged: number;
  readonly duringTheKill: number;
  readonly unknown: number;
  readonly recoveryMs: number;
  readonly entries: number;
  readonly returned: ServerReturn;
  readonly coordinator: CoordinatorLoss;
}

const BATCH = 50;
/** Between two looks at whether reads are answered. */
const READABLE_MS = 50;
const VALUE_BYTES = 100;
/** Between two batches while the cluster heals: all its processes share the processors of one machine with the writer. */
const PAUSE_MS = 50;
/** Servers that poll would take the processors from the others. */
const WITHOUT_POLLING = ['--window-ms', '0'];
/** Batches of writes after the server was killed. */
const BATCHES_AFTER_KILL = 40;

function valueFor(key: number): string {
  return `value ${key} `.padEnd(VALUE_BYTES, 'abcdefghijklmnopqrstuvwxyz');
}

/** Sets keys in batches; counts the acknowledged writes, and leaves out those with an unknown outcome. */
class Loader {
  readonly acknowledged: number[] = [];
  unknown = 0;
  #next = 0;

  constructor(private readonly connection: Connection) {}

  /** Some keys above all before, and a pause. */
  async more(): Promise<void> {
    await this.load(this.#next, BATCH);
    await delay(PAUSE_MS);
  }

  async load(from: number, count: number): Promise<void> {
    this.#next = Math.max(this.#next, from + count);
    const keys = Array.from({ length: count }, (_, index) => from + index);
    const bytes = Buffer.concat(keys.map((key) => encodeCommand(['SET', `key:${key}`, valueFor(key)])));
    const replies = await this.connection.batch(bytes, count);
    replies.forEach((reply, index) => {
      if (reply === 'OK') this.acknowledged.push(keys[index]!);
      else this.unknown += 1;
    });
  }
}

/** The replies to reads, when each server that is asked has a lease of the coordinator that followed. */
async function answersTo(connection: Connection, bytes: Buffer, count: number): Promise<Reply[]> {
  for (;;) {
    const replies = await connection.batch(bytes, count);
    const isRefused = replies.some(
      (reply) => reply instanceof Error && reply.message.startsWith('CLUSTERDOWN'),
    );
    if (!isRefused) return replies;
    await delay(READABLE_MS);
  }
}

/** @throws KvError ERR_RDMC_KV_DATA_LOST when an acknowledged value is missing */
async function verify(connection: Connection, keys: readonly number[]): Promise<void> {
  for (let at = 0; at < keys.length; at += BATCH) {
    const part = keys.slice(at, at + BATCH);
    const bytes = Buffer.concat(part.map((key) => encodeCommand(['GET', `key:${key}`])));
    const replies = await answersTo(connection, bytes, part.length);
    replies.forEach((reply, index) => {
      if (reply === valueFor(part[index]!)) return;
      const found = reply instanceof Error ? reply.message : String(reply);
      throw new KvError(
        'ERR_RDMC_KV_DATA_LOST',
        `key:${part[index]} was acknowledged, and now holds ${found}`,
      );
    });
  }
}

/**
 * Starts a cluster of processes on this machine, loads it, kills one server with -9 while it is written, waits for its
 * recovery, starts it again and waits until it has slots, kills the coordinator, and reads all acknowledged keys.
 */
export async function runDemo(
  { servers, keys, serverArguments = [], tls }: DemoOptions,
  say: (line: string) => void,
): Promise<DemoResult> {
  say(`starting a coordinator and ${servers} servers …`);
  const all = [...WITHOUT_POLLING, ...serverArguments];
  return withLocalCluster({ servers, serverArguments: all, hasStandby: true }, async (cluster) => {
    say(`ready: redis-cli ${tls ? '--tls ' : ''}-p ${cluster.ports[0]} (any of ${cluster.ports.join(', ')})`);
    const connection = await Connection.open('127.0.0.1', cluster.ports[0]!, tls);
    const loader = new Loader(connection);
    await loadAll(loader, keys, say);
    const before = loader.acknowledged.length;
    const { entries, milliseconds } = await loseServer(cluster, loader, keys, say);
    const duringTheKill = loader.acknowledged.length - before;
    say(
      `${duringTheKill} writes were acknowledged meanwhile; ${loader.unknown} got an error, and their outcome is unknown`,
    );
    const returned = await returnServer(cluster, cluster.servers.at(-1)!.name, () => loader.more(), say);
    const coordinator = await loseCoordinator(cluster, () => loader.more(), say);
    await verify(connection, loader.acknowledged);
    say(`all ${loader.acknowledged.length} acknowledged keys have their values`);
    connection.close();
    const { unknown, acknowledged } = loader;
    const counts = { acknowledged: acknowledged.length, duringTheKill, unknown };
    return { ...counts, recoveryMs: milliseconds, entries, returned, coordinator };
  });
}

async function loadAll(loader: Loader, keys: number, say: (line: string) => void): Promise<void> {
  const started = performance.now();
  for (let next = 0; next < keys; next += BATCH) await loader.load(next, Math.min(BATCH, keys - next));
  const seconds = (performance.now() - started) / 1000;
  say(`${loader.acknowledged.length} keys of ${VALUE_BYTES} bytes set in ${seconds.toFixed(1)} s`);
}

/** Kills the last server while keys from the given one on are written; resolves when its log was recovered. */
async function loseServer(
  { servers, coordinator }: LocalCluster,
  loader: Loader,
  from: number,
  say: (line: string) => void,
): Promise<NonNullable<MemberEvent['recovered']>> {
  const victim = servers.at(-1)!;
  const seen = coordinator.eventCount;
  say(`killing ${victim.name} (process ${victim.pid}) with -9 during writes …`);
  const killed = victim.kill('SIGKILL');
  for (let batch = 0; batch < BATCHES_AFTER_KILL; batch += 1) await loader.load(from + batch * BATCH, BATCH);
  await killed;
  const recovered = await coordinator.until((event) => event.recovered, seen);
  say(`its log was recovered by the others: ${recovered.entries} entries in ${recovered.milliseconds} ms`);
  return recovered;
}
