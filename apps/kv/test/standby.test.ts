/** Coordinators that follow each other while the servers run. Needs etcd and the built dist. */
import { fileURLToPath } from 'node:url';
import { pause } from '@rdmc/common';
import { reserveLoopbackPorts } from '@rdmc/mesh/loopback';
import { temporaryDirectory, until } from '@rdmc/testing';
import { Etcd, noEtcd } from '@rdmc/testing/etcd';
import { expect, it, onTestFinished } from 'vitest';
import { LocalCluster, MemberProcess } from '../src/demo/processes.js';
import { RawClient } from './support/raw-client.js';

const command = fileURLToPath(new URL('../dist/main.js', import.meta.url));
/** Between two looks at what has no event. */
const POLL_MS = 20;
/** Between two writes: more would only take the processors from the other processes. */
const WRITE_EVERY_MS = 5;
/** More than a busy machine keeps a coordinator that runs from its processor: the run numbers show that none lost its lead. */
const LEAD_SECONDS = 12;

async function start() {
  const etcd = await Etcd.start(await reserveLoopbackPorts(2));
  onTestFinished(() => etcd.stop());
  const cluster = await LocalCluster.start({
    servers: 4,
    directory: temporaryDirectory('kv-standby'),
    command,
    serverArguments: [
      ...['--window-ms', '0', '--replicas', '2'],
      ...['--segment-mib', '4', '--segments', '16', '--buffers', '12'],
    ],
    shared: { etcd: etcd.endpoint, standbys: 1, leadSeconds: LEAD_SECONDS },
  });
  onTestFinished(() => cluster.stop());
  const clients = await Promise.all(cluster.ports.map((port) => RawClient.connect(port)));
  return { cluster, clients };
}

/** Sets keys until a condition holds. Each write must be acknowledged. */
async function writeUntil(client: RawClient, keys: string[], ends: Promise<unknown>): Promise<void> {
  let isOver = false;
  void ends.then(() => {
    isOver = true;
  });
  while (!isOver) {
    keys.push(`key${keys.length}`);
    expect(await client.command('SET', keys.at(-1)!, 'v')).toBe('+OK\r\n');
    await pause(WRITE_EVERY_MS);
  }
}

/** Each key is read, where reads are refused only for lack of a lease. */
async function readAll(client: RawClient, keys: readonly string[]): Promise<void> {
  const [first = '', ...others] = keys;
  await until(async () => !(await client.command('GET', first)).startsWith('-CLUSTERDOWN'), POLL_MS);
  for (const key of others) {
    let reply = '';
    await until(async () => {
      reply = await client.command('GET', key);
      return !reply.startsWith('-CLUSTERDOWN');
    }, POLL_MS);
    expect(reply).toBe('$1\r\nv\r\n');
  }
}

/** It needs 10 s of a processor: `npm run test:smoke` runs it for every push, and a run of `tools/chaos` in `npm test` has standbys, too. */
const isLong = process.env.RDMC_TEST_LONG === '1';
const how = isLong ? noEtcd && ` (${noEtcd})` : ': needs RDMC_TEST_LONG=1';

it.skipIf(noEtcd || !isLong)(
  `a standby takes over from a coordinator that is killed, and one from a standby that is stopped: no server ends, no write fails${how || ''}`,
  async () => {
    const { cluster, clients } = await start();
    const [client] = clients;
    const [standby] = cluster.standbys;
    const keys: string[] = [];
    await cluster.coordinator.kill('SIGKILL');
    await writeUntil(
      client!,
      keys,
      standby!.until(({ leading }) => leading),
    );
    await readAll(clients[1]!, keys);

    // What it leads is a whole coordinator: it has a server's log recovered, and takes the server back.
    await cluster.servers[3]!.kill('SIGKILL');
    await standby!.until(({ recovered }) => recovered);
    await readAll(clients[1]!, keys);
    const again = (name: string): MemberProcess => {
      const member = new MemberProcess(name, cluster.argumentsOf(name), command);
      onTestFinished(() => member.kill('SIGKILL'));
      return member;
    };
    const back = again('server 4');
    await back.until(({ ready }) => ready);

    // The coordinator that comes back waits, and follows a standby that is silent.
    const former = again('the coordinator');
    await former.until(({ waiting }) => waiting);
    await former.until(({ ready }) => ready);
    const seen = standby!.eventCount;
    standby!.signal('SIGSTOP');
    await writeUntil(
      client!,
      keys,
      former.until(({ leading }) => leading),
    );
    standby!.signal('SIGCONT');
    await standby!.until(({ waiting }) => waiting, seen);
    await readAll(clients[2]!, keys);
    const all = [...cluster.servers.slice(0, 3), back, former, standby!];
    expect(all.map(({ exit }) => exit)).toEqual(all.map(() => undefined));
    const status = await client!.command('RDMC.ADMIN', 'STATUS');
    expect(JSON.parse(status.slice(status.indexOf('\n') + 1))).toMatchObject({
      coordinator: { state: 'connected', standby: 0, facts: { run: 3 } },
      standbys: [{ standby: 1, state: 'connected' }],
    });
  },
);
