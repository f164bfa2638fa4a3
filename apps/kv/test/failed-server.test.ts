/** What clients and operators are told of a server that was killed. It is a process: needs the built dist. */
import { fileURLToPath } from 'node:url';
import { readShape } from '@rdmc/common/shapes';
import { reserveLoopbackPorts } from '@rdmc/mesh/loopback';
import { freed, until } from '@rdmc/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ClusterStatus, clusterStatus, type ServerStatus } from '../src/admin/status.js';
import { Connection } from '../src/client/connection.js';
import type { Reply } from '../src/client/reply-reader.js';
import { nodeId } from '../src/commands/node-view.js';
import { MemberProcess } from '../src/demo/processes.js';
import { TestCluster } from './support/cluster.js';

const command = fileURLToPath(new URL('../dist/main.js', import.meta.url));
/** The server that is killed. */
const KILLED = 7;
/** The others. */
const SERVERS = [1, 2, 3];
/** Between two looks at what has no event. */
const POLL_MS = 20;

let cluster: TestCluster;
let killed: MemberProcess;
/** Where its clients connected. */
let itsPort: number;

beforeAll(async () => {
  cluster = await TestCluster.start(3, { replicas: 1 });
  const [free] = await freed(await reserveLoopbackPorts(1));
  killed = new MemberProcess(
    `server ${KILLED}`,
    `server --id ${KILLED} --join 127.0.0.1:${cluster.servers[0]!.port} --listen 127.0.0.1:${free!.port} --port 0 --replicas 1
      --segment-mib 4 --segments 16 --buffers 16 --window-ms 0 --directory ${cluster.directory}`.split(/\s+/),
    command,
  );
  itsPort = await killed.until(({ ready }) => ready);
  for (const server of SERVERS) await stateAt(server, 'connected');
  await killed.kill('SIGKILL');
  for (const server of SERVERS) await stateAt(server, 'failed');
});
afterAll(async () => {
  await killed?.kill('SIGKILL');
  await cluster?.close();
});

async function asked<T>(server: number, use: (connection: Connection) => Promise<T>): Promise<T> {
  const connection = await Connection.open('127.0.0.1', cluster.servers[server - 1]!.port);
  try {
    return await use(connection);
  } finally {
    connection.close();
  }
}

/** A list of names and values. */
function fieldsOf(reply: Reply | undefined): Record<string, Reply> {
  const words = reply as Reply[];
  return Object.fromEntries(words.flatMap((word, i) => (i % 2 === 0 ? [[String(word), words[i + 1]!]] : [])));
}

/** The servers in CLUSTER SHARDS, by id. */
async function shardsOf(server: number): Promise<Map<Reply, Record<string, Reply>>> {
  const shards = (await asked(server, (each) => each.command('CLUSTER', 'SHARDS'))) as Reply[];
  const nodes = shards.map((shard) => fieldsOf((fieldsOf(shard).nodes as Reply[])[0]));
  return new Map(nodes.map((node) => [node.id!, node]));
}

/** The lines of CLUSTER NODES, by id. */
async function linesOf(server: number): Promise<Map<string, string>> {
  const text = String(await asked(server, (each) => each.command('CLUSTER', 'NODES')));
  const line = /^[0-9a-f]{40} 127\.0\.0\.1:\d+@\d+ \S+ - 0 0 \d+ (dis)?connected( \d+(-\d+)?)*$/;
  const lines = text.trimEnd().split('\n');
  for (const each of lines) expect(each).toMatch(line);
  return new Map(lines.map((each) => [each.slice(0, 40), each.slice(41)]));
}

async function statusOf(server: number): Promise<ClusterStatus> {
  const reply = await asked(server, (each) => each.command('RDMC.ADMIN', 'STATUS'));
  return readShape(clusterStatus, JSON.parse(String(reply)));
}

async function killedIn(server: number): Promise<ServerStatus | undefined> {
  return (await statusOf(server)).servers.find((each) => each.server === KILLED);
}

/** Waits until a server sees the killed one so. */
async function stateAt(server: number, state: ServerStatus['state']): Promise<void> {
  await until(async () => (await killedIn(server))?.state === state, POLL_MS);
}

describe('a server that was killed', () => {
  it('is listed with its last address, and as failed', async () => {
    const bus = itsPort + 10_000;
    for (const server of SERVERS) {
      const shards = await shardsOf(server);
      expect(shards.size).toBe(4);
      expect(shards.get(nodeId(KILLED))).toMatchObject({ port: itsPort, ip: '127.0.0.1', health: 'fail' });
      expect(shards.get(nodeId(server))).toMatchObject({ health: 'online' });
      const line = (await linesOf(server)).get(nodeId(KILLED));
      expect(line).toMatch(new RegExp(`^127\\.0\\.0\\.1:${itsPort}@${bus} master,fail .* disconnected$`));
      const address = { host: '127.0.0.1', port: itsPort };
      expect(await killedIn(server)).toMatchObject({ state: 'failed', incarnation: 1, address });
    }
  });

  it('is left out by a server that started later: nobody told that one where clients connected', async () => {
    await cluster.servers[2]!.close();
    cluster.servers[2] = await cluster.startServer(3);
    await stateAt(3, 'failed');
    expect(await killedIn(3)).toMatchObject({ state: 'failed', incarnation: 1, address: null });
    const others = SERVERS.map(nodeId);
    expect([...(await shardsOf(3)).keys()].sort()).toEqual(others);
    expect([...(await linesOf(3)).keys()].sort()).toEqual(others);
  });
});
