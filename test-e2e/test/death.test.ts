import type { Algorithm, GroupProgress, RelayBy } from '@rdmc/group';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { Cluster, endClusters, over } from '../src/cluster.js';
import { LONG, LONG_NOTE } from '../src/long.js';
import type { CallError, MemberProcess } from '../src/member-process.js';
import type { Closed, Outcome } from '../src/member-types.js';
import { expectLost, expectOrderedAndExact, NEWS_BY_CONNECTIONS, transferAmong } from '../src/proof.js';
import { type Stream, startStream } from '../src/stream.js';

const CONTENT = { seed: 100, variants: 3 };

/**
 * A cluster for many cases: each loses members of it, and shows at its end that the others go on. Processes take longer
 * to start than most cases take.
 */
class Shrinking {
  private constructor(
    readonly cluster: Cluster,
    /** The next free id of a group. */
    private nextGroup = 1,
  ) {}

  static async start(members: number, transport: 'shm' | 'tcp'): Promise<Shrinking> {
    return new Shrinking(
      await Cluster.start(members, { node: { ...NEWS_BY_CONNECTIONS.node, ...over(transport) } }),
    );
  }

  /** The first members of those that live. */
  living(count: number): number[] {
    const ids = this.cluster.members.filter(({ alive, killed }) => alive && !killed).map(({ id }) => id);
    expect(ids.length, 'members that live').toBeGreaterThanOrEqual(count);
    return ids.slice(0, count);
  }

  group(): number {
    return this.nextGroup++;
  }

  /** A stream among so many members, in the middle of it. */
  streaming(algorithm: Algorithm, members: number, relay: RelayBy = 'worker'): Promise<Stream> {
    const size = { byteLength: 4 * 1024 * 1024, count: 'endless' } as const;
    const options = { algorithm, relay, ...NEWS_BY_CONNECTIONS.group };
    const ids = this.living(members);
    return startStream(this.cluster, { group: this.group(), ids, ...CONTENT, ...size, options });
  }
}

function survivorsOf({ cluster, options }: Stream, ...lost: number[]): MemberProcess[] {
  return options.ids.filter((id) => !lost.includes(id)).map((id) => cluster.at(id));
}

/** Every survivor of a stream must know of the loss, by every way in which it is reported. */
async function expectNews(stream: Stream, lost: number): Promise<void> {
  const { group: id, ids } = stream.options;
  const survivors = survivorsOf(stream, lost);
  for (const receiver of survivors.filter((member) => member.id !== ids[0])) {
    const { error } = await receiver.event('end', ({ group }) => group === id);
    expectLost(error, lost);
    expect(expectOrderedAndExact(receiver, id)).toBeGreaterThan(0);
  }
  if (lost !== ids[0]) expectSendsFail(await stream.sends, lost);
  for (const survivor of survivors) {
    const { error } = await survivor.call<Closed>('close', { group: id });
    expectLost(error, lost);
  }
}

function expectSendsFail(outcomes: Outcome[], lost: number): void {
  const failed = outcomes.filter(({ error }) => error !== null);
  expect(outcomes.length - failed.length, 'sends that ended well before').toBeGreaterThan(0);
  expect(failed.length, 'sends that were pending').toBeGreaterThan(0);
  for (const { error } of failed) expectLost(error, lost);
}

async function expectKeptUnchanged(members: MemberProcess[], group: number): Promise<void> {
  for (const member of members) {
    const kept = await member.call('verifyKept', { group });
    expect(kept).toEqual([0, 1].map((number) => ({ number, differsAt: -1 })));
  }
}

/** `lost`: the place of the lost member in the group; `relay`: who relays, by default the worker. */
type Kill = [role: string, algorithm: Algorithm, lost: number, relay?: RelayBy];
interface Kills {
  readonly transport: 'shm' | 'tcp';
  readonly kills: readonly Kill[];
  /** RDMC_TEST_LONG=1 runs these too. */
  readonly more: readonly Kill[];
}
const GROUP_MEMBERS = 5;
const KILLS: readonly Kills[] = [
  {
    transport: 'shm',
    kills: [
      ['the root', 'binomial-pipeline', 0],
      ['a relay', 'binomial-pipeline', 2],
      ['a leaf', 'binomial-tree', 4],
      ['a relay', 'chain', 2, 'device'],
    ],
    more: [
      ['a relay', 'chain', 2],
      ['a leaf', 'chain', 4],
    ],
  },
  {
    transport: 'tcp',
    kills: [
      ['a relay', 'chain', 2],
      ['a relay', 'binomial-pipeline', 2, 'device'],
    ],
    more: [
      ['the root', 'binomial-pipeline', 0],
      ['a leaf', 'binomial-tree', 4],
    ],
  },
];

async function expectKillKnown(all: Shrinking, [role, algorithm, place, relay]: Kill): Promise<void> {
  const stream = await all.streaming(algorithm, GROUP_MEMBERS, relay);
  const { cluster } = all;
  const { group, ids } = stream.options;
  const lost = ids[place]!;
  const { blocksSent, blocksReceived } = await cluster.at(lost).call<GroupProgress>('progress', { group });
  expect(blocksReceived > 0, 'it receives').toBe(role !== 'the root');
  expect(blocksSent > 0, 'it sends').toBe(role !== 'a leaf');
  cluster.at(lost).signal('SIGKILL');
  await expectNews(stream, lost);
  const survivors = survivorsOf(stream, lost);
  await transferAmong(cluster, survivors.map(({ id }) => id).reverse(), all.group());
  await expectKeptUnchanged(
    survivors.filter(({ id }) => id !== ids[0]),
    group,
  );
}

describe.each(KILLS)('kill -9 in the middle of a transfer, over $transport', ({ transport, kills, more }) => {
  let all: Shrinking;
  beforeAll(async () => {
    const losses = kills.length + (LONG ? more.length : 0);
    all = await Shrinking.start(GROUP_MEMBERS - 1 + losses, transport);
  });
  afterAll(async () => {
    await all?.cluster.leave();
    await endClusters();
  });

  const title = 'of %s (%s, place %i): every survivor names it, keeps its messages, and continues';
  it.each(kills)(title, (...kill) => expectKillKnown(all, kill));
  it.skipIf(!LONG).each(more)(`${title}${LONG_NOTE}`, (...kill) => expectKillKnown(all, kill));
});

describe('ends of members of one cluster', () => {
  let all: Shrinking;
  beforeAll(async () => {
    // Seven are lost, and three are left.
    all = await Shrinking.start(10, 'shm');
  });
  afterAll(async () => {
    await all?.cluster.leave();
    await endClusters();
  });

  it('a creation that waits for another member, and a close, reject when that member is killed', async () => {
    const { cluster } = all;
    const [closing, waiting] = [all.group(), all.group()];
    const members = all.living(4);
    const [first, second, third, lost] = members as [number, number, number, number];
    await cluster.createGroup(closing, members, NEWS_BY_CONNECTIONS.group);
    const closed = [second, third].map((id) => cluster.at(id).call<Closed>('close', { group: closing }));
    // The other members do not create the group, so the creations wait; the answer to a later call shows that they have begun.
    const created = [first, second].map((id) =>
      cluster
        .at(id)
        .call('createGroup', { id: waiting, members, timeoutMs: 600_000 })
        .catch((error: CallError) => error),
    );
    await Promise.all(members.map((id) => cluster.at(id).call('counters')));
    cluster.at(lost).signal('SIGKILL');
    for (const { error } of await Promise.all(closed)) expectLost(error, lost);
    for (const error of (await Promise.all(created)) as CallError[]) expectLost(error, lost);
    await transferAmong(cluster, [third, first, second], waiting);
  });

  it('two members at once are killed: every survivor names one of them', async () => {
    const stream = await all.streaming('binomial-pipeline', GROUP_MEMBERS);
    const { cluster, sends, options } = stream;
    const [root, one, left, another, last] = options.ids as [number, number, number, number, number];
    cluster.at(one).signal('SIGKILL');
    cluster.at(another).signal('SIGKILL');
    for (const survivor of [cluster.at(left), cluster.at(last)]) {
      const { error } = await survivor.event('end', ({ group }) => group === options.group);
      expect(error).toMatchObject({ code: 'ERR_RDMC_MEMBER_LOST' });
      expect([one, another]).toContain(error!.memberId);
      expectOrderedAndExact(survivor, options.group);
    }
    await sends;
    await transferAmong(cluster, [last, left, root], all.group());
  });

  const asked = (op: string, args: object) => (member: MemberProcess) => {
    // It ends before it can answer.
    member.call(op, args).catch(() => {});
  };
  it.each<[string, (member: MemberProcess) => void, { code: number | null; signal: string | null }]>([
    ['process.exit()', asked('exit', { code: 3 }), { code: 3, signal: null }],
    ['an uncaught exception', asked('throwUncaught', {}), { code: 1, signal: null }],
    ['SIGINT', (member) => void member.signal('SIGINT'), { code: null, signal: 'SIGINT' }],
    ['SIGTERM', (member) => void member.signal('SIGTERM'), { code: null, signal: 'SIGTERM' }],
  ])(
    '%s of a relay in the middle of a transfer: it ends with that status, and the others know',
    async (_how, endIt, how) => {
      const stream = await all.streaming('binomial-pipeline', 4);
      const [root, one, lost, another] = stream.options.ids as [number, number, number, number];
      const relay = stream.cluster.at(lost);
      endIt(relay);
      await expectNews(stream, lost);
      expect(await relay.exited).toEqual(how);
      await transferAmong(stream.cluster, [another, root, one], all.group());
    },
  );
});

describe('a member that was told to end', () => {
  afterEach(endClusters);

  it('is not asked to leave, although its process may still exist', async () => {
    const cluster = await Cluster.start(2);
    cluster.at(1).signal('SIGTERM');
    await cluster.leave();
    expect(await cluster.at(1).exited).toEqual({ code: null, signal: 'SIGTERM' });
  });
});
