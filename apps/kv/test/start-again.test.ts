/** Members that are started again with their own arguments, where the servers are not those of the list any more: needs the built dist. */
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { reserveLoopbackPorts } from '@rdmc/mesh/loopback';
import { freed } from '@rdmc/testing';
import { expect, it } from 'vitest';
import type { ClusterStatus } from '../src/admin/status.js';
import { MemberProcess } from '../src/demo/processes.js';
import { admin } from './support/admin.js';
import { TestCluster } from './support/cluster.js';
import { RawClient } from './support/raw-client.js';

const command = fileURLToPath(new URL('../dist/main.js', import.meta.url));
/** For a test that hangs. */
const LIMIT_MS = 400_000;
const KEYS = Array.from({ length: 200 }, (_, i) => `k${i}`);
/** These need 10 s of a processor: `npm run test:smoke` runs them for every push. */
const isLong = process.env.RDMC_TEST_LONG === '1';
const how = isLong ? '' : ': needs RDMC_TEST_LONG=1';

it.skipIf(!isLong)(
  `a listed server starts again after the removal of another one, and one that joined later after the end of all members${how}`,
  {
    timeout: LIMIT_MS,
  },
  async () => {
    const [second, listens] = await freed(await reserveLoopbackPorts(2));
    const options = { replicas: 2, joinTimeoutMs: LIMIT_MS };
    const own = { servers: { 2: { port: second!.port } } };
    const first = await TestCluster.start(3, options, own);
    const { directory, members } = first;
    const startFourth = (): MemberProcess =>
      new MemberProcess(
        'server 4',
        `server --id 4 --join 127.0.0.1:${second!.port} --listen 127.0.0.1:${listens!.port} --port 0 --replicas 2 --segment-mib 4
        --segments 16 --buffers 16 --window-ms 0 --join-seconds ${LIMIT_MS / 1000} --directory ${directory}`.split(
          /\s+/,
        ),
        command,
      );
    let fourth = startFourth();
    let cluster = first;
    try {
      const port = await fourth.until(({ ready }) => ready);
      const client = await RawClient.connect(port);
      expect(await client.command('MSET', ...KEYS.flatMap((key) => [key, `v${key}`]))).toBe('+OK\r\n');
      expect(await admin(port, 'drain', '1')).toMatchObject({ status: 0 });
      expect(await admin(port, 'remove', '1')).toMatchObject({ status: 0 });
      if (!first.servers[0]!.signal.aborted) await once(first.servers[0]!.signal, 'abort');

      // It needs two others, and the list has one that is there.
      await first.servers[1]!.close();
      first.servers[1] = await first.startServer(2, own.servers[2]);
      await expectKeys(client);
      client.close();

      // Server 2 waits for server 4, which does not get an answer there.
      await first.dump();
      await fourth.kill('SIGTERM');
      fourth = startFourth();
      cluster = await TestCluster.start(3, options, { ...own, directory, members, absent: [1] });
      const again = await RawClient.connect(await fourth.until(({ ready }) => ready));
      await expectKeys(again);
      again.close();
    } finally {
      await fourth.kill('SIGKILL');
      await cluster.close();
    }
  },
);

it.skipIf(!isLong).each([
  ['is in the list', 4, [[4, 'absent']]],
  ['joined later', 3, []],
])(
  `a server that %s, and died before all others were started again, can be removed${how}`,
  {
    timeout: LIMIT_MS,
  },
  async (_, listed, states) => {
    const first = await TestCluster.start(4, { replicas: 1 });
    const { directory, members } = first;
    const recovered = first.recovered(1);
    await first.servers.pop()!.close();
    await recovered;
    await first.dump();
    const list = members.slice(0, listed + 1);
    const cluster = await TestCluster.start(
      listed,
      { replicas: 1 },
      { directory, members: list, absent: [4] },
    );
    try {
      const { port } = cluster.servers[0]!;
      /** The servers beside those that were started. */
      const others = async () => {
        const { servers } = JSON.parse((await admin(port, 'status', '--json')).stdout) as ClusterStatus;
        return servers.filter(({ server }) => server > 3).map(({ server, state }) => [server, state]);
      };
      expect(await others()).toEqual(states);
      expect(await admin(port, 'remove', '4')).toMatchObject({ status: 0 });
      expect(await others()).toEqual([]);
      expect(await admin(port, 'remove', '5')).toMatchObject({
        status: 2,
        stderr: expect.stringContaining('ERR_RDMC_KV_INVALID_OPTION'),
      });
    } finally {
      await cluster.close();
    }
  },
);

/** Slots may have no server for a while, or move. */
async function expectKeys(client: RawClient): Promise<void> {
  for (const key of KEYS) {
    await expect
      .poll(() => client.command('GET', key), { timeout: LIMIT_MS })
      .toBe(`$${key.length + 1}\r\nv${key}\r\n`);
  }
}
