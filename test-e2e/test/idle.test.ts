import { isDeepStrictEqual } from 'node:util';
import type { Counters } from '@rdmc/dataplane';
import { afterEach, describe, expect, it } from 'vitest';
import { Cluster, endClusters, over } from '../src/cluster.js';
import type { MemberProcess } from '../src/member-process.js';
import type { Outcome, SystemFacts } from '../src/member-types.js';

const GROUPS = 3;
/** The default of nodes. */
const WINDOW_MS = 50;
const BEAT_MS = 250;
/** Heartbeats of the mesh in an idle time: two seconds, many windows of 50 ms. */
const QUIET_BEATS = 8;
/** A tick is 10 ms, and the kernel rounds. */
const MOST_TICKS = 2;
const MOST_ATTEMPTS = 200;
/** After its last message a group probes its neighbours a few times more; on a busy machine these probes are late. */
const MOST_QUIET_ATTEMPTS = 60;

afterEach(endClusters);

type Work = Pick<Counters, 'polls' | 'sleeps' | 'wakeups' | 'turns' | 'pollingMicroseconds'>;

async function work(member: MemberProcess): Promise<Work> {
  const { polls, sleeps, wakeups, turns, pollingMicroseconds } = await member.call<Counters>('counters');
  return { polls, sleeps, wakeups, turns, pollingMicroseconds };
}

/** Beats until two readings with a beat between them are equal: the window has passed, and the worker sleeps. */
async function asleep(member: MemberProcess): Promise<Work> {
  let before = await work(member);
  for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt += 1) {
    await member.call('beats', { count: 1 });
    const after = await work(member);
    if (after.polls === before.polls && after.sleeps === before.sleeps) return after;
    before = after;
  }
  throw new Error(`The worker of member ${member.id} still works after ${MOST_ATTEMPTS} heartbeats`);
}

/** The facts before some beats in which the worker did nothing at all: everything ends, and then it sleeps for good. */
async function quiet(member: MemberProcess): Promise<SystemFacts> {
  let before = await asleep(member);
  for (let attempt = 0; attempt < MOST_QUIET_ATTEMPTS; attempt += 1) {
    expect(before.sleeps).toBeGreaterThan(0);
    const facts = await member.call<SystemFacts>('system');
    await member.call('beats', { count: QUIET_BEATS });
    const after = await work(member);
    if (isDeepStrictEqual(after, before)) return facts;
    before = after;
  }
  throw new Error(`The worker of member ${member.id} is never idle for ${QUIET_BEATS} heartbeats`);
}

/**
 * Ticks of all threads that the data plane has made, between two readings. The application's own and Node's, which
 * collect garbage and compile when they like, were there before.
 */
function ticksOfOurs(before: SystemFacts, after: SystemFacts, nodes: readonly string[]): number {
  const threads = Object.keys(after.ticks).filter((thread) => !nodes.includes(thread));
  expect(threads.length).toBeGreaterThan(0);
  return threads.reduce((sum, thread) => sum + after.ticks[thread]! - (before.ticks[thread] ?? 0), 0);
}

describe.each(['shm', 'tcp'] as const)('idle, with groups open, device over %s', (transport) => {
  it('the data plane sleeps, and no thread of it runs', async () => {
    const cluster = await Cluster.start(2, { node: { windowMs: WINDOW_MS, ...over(transport) } });
    for (let id = 0; id < GROUPS; id += 1) {
      await cluster.createGroup(id, id % 2 === 0 ? [0, 1] : [1, 0]);
      const [sent] = await cluster
        .at(id % 2)
        .call<Outcome[]>('send', { group: id, seed: id, byteLength: 1e6 });
      expect(sent!.error).toBeNull();
    }
    for (const [id, other] of [
      [0, 1],
      [1, 0],
    ] as const) {
      await cluster.at(id).call('beat', { to: other, intervalMs: BEAT_MS });
    }
    await cluster.all(async (member) => {
      const facts = await quiet(member);
      const { threads } = await member.event('ready');
      const ticks = ticksOfOurs(facts, await member.call<SystemFacts>('system'), threads);
      expect(ticks, 'ticks of the threads below the application').toBeLessThanOrEqual(MOST_TICKS);
    });
    // And it wakes for new work.
    const [sent] = await cluster.at(0).call<Outcome[]>('send', { group: 0, seed: 1, byteLength: 1e6 });
    expect(sent!.error).toBeNull();
    await cluster.at(1).event('message', ({ group, number }) => group === 0 && number === 1);
    await cluster.leave();
  });
});
