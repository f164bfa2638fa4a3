/** Servers whose segments have another size than those of the cluster. */
import { getEventListeners } from 'node:events';
import { Deferred, ownLevels, type Subscription, subscription } from '@rdmc/common';
import { refusal, rejection } from '@rdmc/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { NOT_TOLD, Topic } from '../src/cluster/messages.js';
import { segmentSizes } from '../src/cluster/segment-sizes.js';
import { LevelKeeper } from '../src/upgrade/level-keeper.js';
import { TestCluster } from './support/cluster.js';
import { RawClient } from './support/raw-client.js';

const MIB = 1024 * 1024;
const KEYS = ['a', 'b', 'c', 'd'];
const REFUSED = refusal('ERR_RDMC_KV_SEGMENT_SIZE');

const NEVER_MS = 2 ** 31 - 1;
/** All that can go on without another event has gone on. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

type State = 'connected' | 'left';

function sizesOf(...states: State[]) {
  const peers = new Map(states.map((state, at) => [at + 1, { state, incarnation: 1 }]));
  const sizes = segmentSizes({ peers });
  const admit = (server: number, mib: number, isRunning = false): void => {
    const enlistment = { segmentBytes: mib * MIB, replicas: NOT_TOLD, isRunning };
    sizes.check(server, enlistment);
    sizes.admit(server, enlistment);
  };
  return { peers, admit };
}

describe('the coordinator', () => {
  it('refuses other sizes, smaller and larger, and says what to do', () => {
    const { admit } = sizesOf('connected', 'connected', 'connected');
    admit(1, 8);
    admit(2, 8);
    expect(() => admit(3, 4)).toThrow(REFUSED);
    expect(() => admit(3, 16)).toThrow(REFUSED);
    expect(() => admit(3, 4)).toThrow(
      'server 3 has segments of 4 MiB, and the cluster has 8 MiB: start it with --segment-mib 8.',
    );
    admit(3, 8);
  });

  it('does not refuse where a size is not known: servers of the release before do not tell theirs', () => {
    const { admit } = sizesOf('connected', 'connected', 'connected');
    admit(1, 0);
    admit(2, 4);
    admit(3, 0);
  });

  it('does not refuse a server that runs; the largest size is that of the cluster then', () => {
    const { admit } = sizesOf('connected', 'connected', 'connected');
    admit(1, 4, true);
    admit(2, 8, true);
    expect(() => admit(3, 4)).toThrow(REFUSED);
    admit(3, 8);
    admit(1, 8);
  });

  it('forgets servers that have ended, also where their next process is here', () => {
    const { peers, admit } = sizesOf('connected', 'connected', 'connected');
    admit(1, 8);
    admit(2, 8);
    peers.set(1, { state: 'left', incarnation: 1 });
    peers.set(2, { state: 'connected', incarnation: 2 });
    admit(3, 4);
    admit(2, 4);
    expect(() => admit(1, 8)).toThrow(REFUSED);
  });
});

/** Servers 1 to 4 are connected; 1 to 3 have live logs of a former run of the coordinator, and 9 has a dead one. */
function nextRun({
  waitMs = NEVER_MS,
  logs = async () => {},
}: {
  waitMs?: number;
  logs?: () => Promise<void>;
} = {}) {
  const peers = new Map(
    [1, 2, 3, 4].map((id) => [id, { state: 'connected' as State, levels: ownLevels(), incarnation: 2 }]),
  );
  const end = new AbortController();
  let left!: (server: number) => void;
  const onLeave = (listener: typeof left): Subscription => {
    left = listener;
    return subscription(() => {});
  };
  /** As in the mesh: a server that has left is not a peer any more. */
  const leave = (server: number): void => {
    peers.delete(server);
    left(server);
  };
  let enlist!: (from: number, body: unknown) => unknown;
  const onRequest = (topic: string, handler: typeof enlist): Subscription => {
    if (topic === Topic.LEVEL) enlist = handler;
    return subscription(() => {});
  };
  const records = [1, 2, 3].map((owner) => ({ owner, state: 'live' as const }));
  const keeper = new LevelKeeper({
    mesh: { id: 0, peers, onLeave },
    orders: { onRequest, broadcast: () => {} },
    store: { level: 1, raiseLevel: async () => {} },
    logs: async () => {
      await logs();
      return [...records, { owner: 9, state: 'recovering' as const }];
    },
    levels: ownLevels(),
    waitMs,
    ended: end.signal,
  });
  /** Servers that were answered. */
  const answered: number[] = [];
  const tell = async (server: number, mib: number, isRunning: boolean, more = {}): Promise<unknown> => {
    try {
      return await enlist(server, { segmentBytes: mib * MIB, isRunning, ...more });
    } finally {
      answered.push(server);
    }
  };
  const running = (server: number, mib: number, more?: object) => tell(server, mib, true, more);
  const starting = (server: number, mib: number, more?: object) => tell(server, mib, false, more);
  return { peers, end, keeper, answered, leave, running, starting };
}

describe('a further run of the coordinator', () => {
  it('admits no server of another size before those that run have told theirs', async () => {
    const { answered, running, starting } = nextRun();
    const other = rejection(starting(4, 4));
    await starting(3, 0);
    await running(1, 8);
    await turn();
    expect(answered).toEqual([3, 1]);
    await running(2, 8);
    expect(await other).toEqual(REFUSED);
    expect(await starting(4, 8)).toEqual({ level: 1 });
  });

  it('admits a server when one that runs has told the same size: the others may be dead', async () => {
    const { answered, running, starting } = nextRun();
    const same = starting(3, 8);
    await turn();
    expect(answered).toEqual([]);
    await running(1, 8);
    expect(await same).toEqual({ level: 1 });
  });

  it('admits a server when its size and its number of backups were both told, by servers that run', async () => {
    const { answered, running, starting } = nextRun();
    const [same, other] = [starting(4, 8, { replicas: 2 }), rejection(starting(3, 8, { replicas: 1 }))];
    await running(1, 8);
    await turn();
    expect(answered).toEqual([1]);
    await running(2, 0, { replicas: 2 });
    expect(await same).toEqual({ level: 1 });
    expect(await other).toEqual(refusal('ERR_RDMC_KV_REPLICAS'));
  });

  it('does not count the size of a server that it refused for its number of backups', async () => {
    const { running, starting } = nextRun();
    for (const id of [1, 3]) await running(id, 0, { replicas: 2 });
    await expect(starting(2, 4, { replicas: 1 })).rejects.toEqual(refusal('ERR_RDMC_KV_REPLICAS'));
    expect(await starting(4, 8, { replicas: 2 })).toEqual({ level: 1 });
  });

  it('does not wait for servers that have left, or whose next processes start too', async () => {
    const { answered, leave, starting } = nextRun();
    leave(3);
    const first = starting(1, 4);
    await turn();
    expect(answered).toEqual([]);
    expect(await starting(2, 4)).toEqual({ level: 1 });
    expect(await first).toEqual({ level: 1 });
  });

  it('does not wait any longer for a server that leaves meanwhile', async () => {
    const { answered, leave, running, starting } = nextRun();
    for (const id of [1, 2]) await running(id, 8);
    const other = rejection(starting(4, 4));
    await turn();
    expect(answered).toEqual([1, 2]);
    leave(3);
    expect(await other).toEqual(REFUSED);
  });

  it('does not take the size of a process that ended while it waited for that of the next one', async () => {
    const { peers, running, starting } = nextRun();
    const former = rejection(starting(4, 4));
    await turn();
    peers.get(4)!.incarnation += 1;
    // They do not tell their sizes.
    for (const id of [1, 2, 3]) await running(id, 0);
    expect(await former).toEqual(refusal('ERR_RDMC_KV_MEMBER_LOST'));
    expect(await starting(2, 8)).toEqual({ level: 1 });
  });

  it('has one listener for its end, and reads its state once for each enlistment, however many servers wait', async () => {
    let reads = 0;
    const logs = async (): Promise<void> => {
      reads += 1;
    };
    const { end, starting } = nextRun({ logs });
    const waiting: Promise<unknown>[] = [];
    for (let count = 1; count <= 20; count += 1) {
      waiting.push(rejection(starting(4, 8)));
      await turn();
      expect(reads).toBe(count);
    }
    expect(getEventListeners(end.signal, 'abort')).toHaveLength(1);
    end.abort(Object.assign(new Error('ended'), { code: 'ERR_RDMC_COORDINATOR_CLOSED' }));
    expect(await Promise.all(waiting)).toEqual(Array(20).fill(refusal('ERR_RDMC_COORDINATOR_CLOSED')));
  });

  it('does not wait where the size is not told', async () => {
    expect(await nextRun().starting(4, 0)).toEqual({ level: 1 });
  });

  it('waits for servers that are away for a limited time', async () => {
    const { running, starting } = nextRun({ waitMs: 1 });
    await running(1, 8);
    await expect(starting(4, 4)).rejects.toEqual(REFUSED);
  });

  it('says so where it ends meanwhile, or its state is out of reach', async () => {
    const { end, keeper, starting } = nextRun();
    const waiting = starting(4, 8);
    await turn();
    keeper.close();
    end.abort(Object.assign(new Error('ended'), { code: 'ERR_RDMC_COORDINATOR_CLOSED' }));
    await expect(waiting).rejects.toEqual(refusal('ERR_RDMC_COORDINATOR_CLOSED'));
    const logs = async (): Promise<void> => {
      throw Object.assign(new Error('no'), { code: 'ERR_RDMC_STATE_UNREACHABLE' });
    };
    await expect(nextRun({ logs }).starting(4, 8)).rejects.toEqual(refusal('ERR_RDMC_STATE_UNREACHABLE'));
  });

  it('notices a server that enlists while it reads its state', async () => {
    const [began, read] = [new Deferred<void>(), new Deferred<void>()];
    const logs = async (): Promise<void> => {
      began.resolve();
      await read.promise;
    };
    const { leave, running, starting } = nextRun({ logs });
    for (const id of [2, 3]) leave(id);
    const other = rejection(starting(4, 4));
    await began.promise;
    await running(1, 8);
    read.resolve();
    expect(await other).toEqual(REFUSED);
  });
});

describe('a cluster', () => {
  it('of 8 MiB refuses servers of 4 and of 16 MiB, and admits one of 8', async () => {
    const cluster = await TestCluster.start(3, { segmentBytes: 8 * MIB, replicas: 1 });
    try {
      const recovered = cluster.recovered(1);
      await cluster.servers.pop()!.close();
      await recovered;
      for (const mib of [4, 16]) {
        await expect(cluster.startServer(3, { segmentBytes: mib * MIB })).rejects.toMatchObject({
          code: 'ERR_RDMC_KV_SEGMENT_SIZE',
          message: expect.stringContaining('start it with --segment-mib 8'),
        });
      }
      cluster.servers.push(await cluster.startServer(3));
    } finally {
      await cluster.close();
    }
  });

  it('of 8 MiB that was stopped starts with 4 MiB, and then with 16, with its keys', async () => {
    const value = 'x'.repeat(MIB / 2);
    const reply = `$${value.length}\r\n${value}\r\n`;
    let directory: string | undefined;
    for (const mib of [8, 4, 16]) {
      const options = { segmentBytes: mib * MIB, replicas: 1 };
      const cluster = await TestCluster.start(2, options, directory === undefined ? {} : { directory });
      onTestFinished(() => cluster.close());
      const client = await RawClient.connect(cluster.servers[1]!.port);
      for (const key of KEYS) {
        if (directory === undefined) expect(await client.command('SET', key, value)).toBe('+OK\r\n');
        else expect(await client.command('GET', key)).toBe(reply);
      }
      await client.close();
      await cluster.dump();
      directory = cluster.directory;
    }
  });
});
