import type { Algorithm, GroupProgress } from '@rdmc/group';
import { afterEach, describe, expect, it } from 'vitest';
import { Cluster, endClusters, over } from '../src/cluster.js';
import { LONG, LONG_NOTE } from '../src/long.js';
import type { CallError, MemberProcess } from '../src/member-process.js';
import type { Closed, Outcome } from '../src/member-types.js';
import { expectLost, expectOrderedAndExact, NEWS_BY_CONNECTIONS, transferAmong } from '../src/proof.js';
import { type Stream, startStream } from '../src/stream.js';

const GROUP = 1;
const MEMBERS = 5;
const CONTENT = { seed: 100, variants: 3 };
/** Many seconds of messages: a busy machine does not send them all before the kill. */
const COUNT = 1600;

afterEach(endClusters);

async function streaming(
  algorithm: Algorithm,
  transport: 'shm' | 'tcp' = 'shm',
  members = MEMBERS,
): Promise<Stream> {
  const { node, group } = NEWS_BY_CONNECTIONS;
  const cluster = await Cluster.start(members, { node: { ...node, ...over(transport) } });
  const size = { byteLength: 4 * 1024 * 1024, count: COUNT };
  const options = { algorithm, ...group };
  return startStream(cluster, { group: GROUP, ids: cluster.ids, ...CONTENT, ...size, options });
}

/** Every survivor of a stream must know of the loss, by every way in which it is reported. */
async function expectNews({ cluster, sends }: Stream, lost: number): Promise<void> {
  const survivors = cluster.except(lost);
  const receivers = survivors.filter(({ id }) => id !== 0);
  for (const receiver of receivers) {
    const { error } = await receiver.event('end', ({ group }) => group === GROUP);
    expectLost(error, lost);
    const delivered = expectOrderedAndExact(receiver, GROUP);
    expect(delivered).toBeGreaterThan(0);
    expect(delivered).toBeLessThan(COUNT);
  }
  if (lost !== 0) expectSendsFail(await sends, lost);
  for (const survivor of survivors) {
    const { error } = await survivor.call<Closed>('close', { group: GROUP });
    expectLost(error, lost);
  }
}

function expectSendsFail(outcomes: Outcome[], lost: number): void {
  const failed = outcomes.filter(({ error }) => error !== null);
  expect(outcomes.length - failed.length, 'sends that ended well before').toBeGreaterThan(0);
  expect(failed.length, 'sends that were pending').toBeGreaterThan(0);
  for (const { error } of failed) expectLost(error, lost);
}

async function expectKeptUnchanged(members: MemberProcess[]): Promise<void> {
  for (const member of members) {
    const kept = await member.call('verifyKept', { group: GROUP });
    expect(kept).toEqual([0, 1].map((number) => ({ number, differsAt: -1 })));
  }
}

type Kill = [role: string, algorithm: Algorithm, lost: number, transport: 'shm' | 'tcp'];
const KILLS: Kill[] = [
  ['the root', 'binomial-pipeline', 0, 'shm'],
  ['a relay', 'binomial-pipeline', 2, 'shm'],
  ['a relay', 'chain', 2, 'tcp'],
  ['a leaf', 'binomial-tree', 4, 'shm'],
];
/** RDMC_TEST_LONG=1 runs these too. */
const MORE_KILLS: Kill[] = [
  ['the root', 'binomial-pipeline', 0, 'tcp'],
  ['a relay', 'chain', 2, 'shm'],
  ['a leaf', 'chain', 4, 'shm'],
  ['a leaf', 'binomial-tree', 4, 'tcp'],
];

async function expectKillKnown([role, algorithm, lost, transport]: Kill): Promise<void> {
  const stream = await streaming(algorithm, transport);
  const { cluster } = stream;
  const { blocksSent, blocksReceived } = await cluster
    .at(lost)
    .call<GroupProgress>('progress', { group: GROUP });
  expect(blocksReceived > 0, 'it receives').toBe(role !== 'the root');
  expect(blocksSent > 0, 'it sends').toBe(role !== 'a leaf');
  cluster.at(lost).signal('SIGKILL');
  await expectNews(stream, lost);
  const survivors = cluster.except(lost);
  await transferAmong(cluster, survivors.map(({ id }) => id).reverse(), GROUP + 1);
  await expectKeptUnchanged(survivors.filter(({ id }) => id !== 0));
  await cluster.leave();
}

describe('kill -9 in the middle of a transfer: every survivor names it, keeps its messages, and continues', () => {
  it.each(KILLS)('%s (%s, member %i, over %s)', (...kill) => expectKillKnown(kill));
  it.skipIf(!LONG).each(MORE_KILLS)(`%s (%s, member %i, over %s)${LONG_NOTE}`, (...kill) =>
    expectKillKnown(kill),
  );
});

describe('what is pending when a member is killed', () => {
  it('a creation that waits for another member, and a close, reject as well', async () => {
    const { node, group } = NEWS_BY_CONNECTIONS;
    const cluster = await Cluster.start(4, { node });
    await cluster.createGroup(GROUP, [0, 1, 2, 3], group);
    const closing = cluster.all(
      (member) => member.call<Closed>('close', { group: GROUP }),
      cluster.except(0, 3),
    );
    // The other members do not create the group, so the creations wait; the answer to a later call shows that they have begun.
    const creating = cluster.all(
      (member) =>
        member
          .call('createGroup', { id: 9, members: [0, 1, 2, 3], timeoutMs: 600_000 })
          .catch((error: CallError) => error),
      cluster.except(2, 3),
    );
    await cluster.all((member) => member.call('counters'));
    cluster.at(3).signal('SIGKILL');
    for (const { error } of await closing) expectLost(error, 3);
    for (const error of (await creating) as CallError[]) expectLost(error, 3);
    await transferAmong(cluster, [2, 0, 1], 9);
    await cluster.leave();
  });

  it('two members at once: every survivor names one of them', async () => {
    const { cluster, sends } = await streaming('binomial-pipeline');
    cluster.at(1).signal('SIGKILL');
    cluster.at(3).signal('SIGKILL');
    for (const survivor of [cluster.at(2), cluster.at(4)]) {
      const { error } = await survivor.event('end', ({ group }) => group === GROUP);
      expect(error).toMatchObject({ code: 'ERR_RDMC_MEMBER_LOST' });
      expect([1, 3]).toContain(error!.memberId);
      expectOrderedAndExact(survivor, GROUP);
    }
    await sends;
    await transferAmong(cluster, [4, 2, 0], GROUP + 1);
    await cluster.leave();
  });
});

describe('unannounced ends of a process in the middle of a transfer', () => {
  const asked = (op: string, args: object) => (member: MemberProcess) => {
    // It ends before it can answer.
    member.call(op, args).catch(() => {});
  };
  it.each<[string, (member: MemberProcess) => void, { code: number | null; signal: string | null }]>([
    ['process.exit()', asked('exit', { code: 3 }), { code: 3, signal: null }],
    ['an uncaught exception', asked('throwUncaught', {}), { code: 1, signal: null }],
    ['SIGINT', (member) => void member.signal('SIGINT'), { code: null, signal: 'SIGINT' }],
    ['SIGTERM', (member) => void member.signal('SIGTERM'), { code: null, signal: 'SIGTERM' }],
  ])('%s of a relay: it ends with that status, and the others know', async (_how, endIt, how) => {
    const stream = await streaming('binomial-pipeline', 'shm', 4);
    const relay = stream.cluster.at(2);
    endIt(relay);
    await expectNews(stream, 2);
    expect(await relay.exited).toEqual(how);
    await transferAmong(stream.cluster, [3, 0, 1], GROUP + 1);
    await stream.cluster.leave();
  });
});

it('a member that was told to end is not asked to leave, although its process may still exist', async () => {
  const cluster = await Cluster.start(2);
  cluster.at(1).signal('SIGTERM');
  await cluster.leave();
  expect(await cluster.at(1).exited).toEqual({ code: null, signal: 'SIGTERM' });
});
