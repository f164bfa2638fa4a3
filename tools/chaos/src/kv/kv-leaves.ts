// Scenarios in which an operator has a server leave for good.
import { setTimeout as delay } from 'node:timers/promises';
import type { Deeds, HarmedKv } from './harmed-kv.js';
import { replicaVersions } from './kv-formats.js';
import { among, begin } from './kv-moves.js';
import type { KvProcess } from './kv-server.js';
import { running, type Status, untilStatus } from './kv-status.js';

/** An operator repeats an order that is refused. */
const REPEAT_MS = 100;
/** Some of them before the order has reached the coordinator, some after. */
const LONGEST_ORDER_MS = 60;

export const LEAVES: Deeds = { 'kv-remove': remove, 'kv-drain-death': drainAndDeath };

/**
 * A server is drained and removed, or it dies and is removed. Up to r of the others die just then, so that the copies are needed that
 * were made of its replicas. Then a process with the removed id joins.
 */
async function remove(run: HarmedKv): Promise<void> {
  const [first, ...others] = run.random.shuffled(run.living()) as [KvProcess, ...KvProcess[]];
  const isDead = run.random.integer(0, 2) === 0;
  const { replicas } = run.plan.shape;
  // After a death without a drain a replica of the other logs may be missing.
  const deaths = run.random.pick([0, isDead ? replicas - 1 : replicas]);
  const victims = others.slice(0, deaths);
  run.killed = victims;
  if (isDead) await run.killAll([first]);
  else await begin(run, 'drain', [first, others[0]!]);
  await orderRemoval(run, first);
  await run.killAll(victims);
  if (!isDead) await requireRemoved(run, first);
  if (deaths === 0) await run.clients.more(run.plan.away);
  await comeBack(run, first, others.at(-1)!);
  await run.calmly(() => untilStatus(() => run.random.pick(run.living()), hasSlots(first)));
  run.note(`${first.name} has slots again`);
  await run.clients.more(run.plan.after);
}

/** The order is repeated until it is carried out. The coordinator may die meanwhile. */
async function orderRemoval(run: HarmedKv, first: KvProcess): Promise<void> {
  const isCoordinatorToDie = run.random.integer(0, 2) === 0;
  const ordered = run.calmly(() => untilRemoved(run, first));
  // Of a run that was given up.
  ordered.catch(() => {});
  if (isCoordinatorToDie) {
    await run.calmly(() => untilEmpty(run, first));
    await delay(run.random.integer(0, LONGEST_ORDER_MS));
    await run.killAll([run.cluster.coordinator]);
    await run.coordinate();
  }
  await ordered;
  run.note(`${first.name} is removed`);
}

async function requireRemoved(run: HarmedKv, first: KvProcess): Promise<void> {
  const { code } = await run.calmly(() => first.exited);
  if (code !== 0 || !first.isRemoved)
    throw new Error(`it did not end as a removed server: ${first.report()}`);
  // It writes those that it has in memory when it ends.
  const { length } = replicaVersions(run.cluster.directory, Number(first.id));
  if (length > 0) throw new Error(`server ${first.id} was removed with ${length} replicas`);
}

async function untilRemoved(run: HarmedKv, first: KvProcess): Promise<void> {
  let told = '';
  for (;;) {
    const reply = await running(run.random.pick(run.living())).adminReply('REMOVE', first.id);
    if (reply && 'value' in reply) return;
    const text = reply ? reply.error : 'no answer';
    if (text !== told) run.note(`removal of ${first.name}: ${text}`);
    told = text;
    await delay(REPEAT_MS);
  }
}

/** With its address, and with its files or without, or with another address. */
async function comeBack(run: HarmedKv, first: KvProcess, other: KvProcess): Promise<void> {
  if (run.random.integer(0, 2) > 0) {
    await run.startAgain(first);
    return;
  }
  const server = await run.cluster.launchTwin(first.id, other);
  await run.calmly(() => server.ready);
  run.cluster.replace(first, server);
  run.note(`${first.name} was started again, at another address`);
}

/**
 * A server is drained, and another one dies, so that each log needs the drained one as a backup. Writes go on. When there are enough
 * servers again, the drained one becomes empty and can be removed.
 */
async function drainAndDeath(run: HarmedKv): Promise<void> {
  const { coordinator } = run.cluster;
  const before = coordinator.balances;
  const [drained, other] = await begin(run, 'drain');
  const moment = run.random.pick(['among hand-overs', 'without slots', 'empty'] as const);
  if (moment === 'among hand-overs') await among(run);
  else await run.calmly(() => coordinator.balanced(before));
  if (moment === 'empty') await run.calmly(() => untilEmpty(run, drained));
  run.note(`${drained.name} is drained: ${moment}`);
  const way = run.random.pick(['none', 'return', 'join'] as const);
  run.killed = [other];
  await run.killAll([other]);
  await run.clients.more(run.plan.after);
  await run.calmly(() => untilServed(run));
  if (way === 'none') return;
  run.killed = [];
  if (way === 'return') await run.startAgain(other);
  else run.note(`${(await run.calmly(() => run.cluster.join())).name} has joined`);
  if (way === 'join') run.killed = [other];
  await orderRemoval(run, drained);
  await requireRemoved(run, drained);
  run.killed = [...run.killed, drained];
}

/** A drained server has neither slots nor replicas. */
function untilEmpty(run: HarmedKv, server: KvProcess): Promise<void> {
  const isEmpty = ({ servers }: Status): boolean => {
    const found = servers.find((each) => String(each.server) === server.id);
    return found?.slots.length === 0 && (found.facts?.backup.logs.length ?? 1) === 0;
  };
  return untilStatus(
    () => run.random.pick(run.living()),
    (status) => server.gone || isEmpty(status),
  );
}

/** Each slot has a server, and this one has some. */
function hasSlots({ id }: KvProcess): (status: Status) => boolean {
  return ({ servers, unserved }) =>
    unserved.length === 0 && servers.some(({ server, slots }) => String(server) === id && slots.length > 0);
}

/** Each slot has a server. */
function untilServed(run: HarmedKv): Promise<void> {
  return untilStatus(
    () => run.random.pick(run.living()),
    ({ unserved }) => unserved.length === 0,
  );
}
