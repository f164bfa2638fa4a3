// Scenarios in which slots are handed over between servers that run: the faults come among the hand-overs.
import { setTimeout as delay } from 'node:timers/promises';
import { changeLead } from './change-lead.js';
import type { Deeds, HarmedKv } from './harmed-kv.js';
import { ETCD_HOST, hostOf, hostOfServer } from './kv-places.js';
import { LONGEST_TAKEOVER_MS, PAUSE_MS } from './kv-plan.js';
import type { KvProcess } from './kv-server.js';

/** Faults come before one of the first hand-overs, or in it: each is like the others. */
const MOST_MOVES = 12;
const LONGEST_MOVE_MS = 60;
/** Between two faults that belong together: within a hand-over, or while the first one is dealt with. */
const BETWEEN_MS = [0, 0, 30, LONGEST_TAKEOVER_MS] as const;

export type Way = 'return' | 'join' | 'drain';

export const MOVES: Deeds = {
  'kv-hand-over': (run) => oneDeath(run, 'return'),
  'kv-join': (run) => oneDeath(run, 'join'),
  'kv-drain': drain,
  'kv-move-deaths': twoDeaths,
  'kv-move-standby': standby,
  'kv-move-partition': partition,
};

/**
 * Has slots move: a server dies and returns, or a further one joins, or one is to go. Resolves with it and another one; the slots of
 * the first one, or those that it gets, move from then on.
 */
export async function begin(
  run: HarmedKv,
  way: Way,
  [first, other]: readonly KvProcess[] = run.random.shuffled(run.living()),
): Promise<[moved: KvProcess, other: KvProcess]> {
  if (way === 'join') {
    const joined = await run.calmly(() => run.cluster.join());
    run.note(`${joined.name} has joined`);
    return [joined, other!];
  }
  if (way === 'drain') {
    run.note(`drain of ${first!.name}: ${await other!.admin('DRAIN', first!.id)}`);
    return [first!, other!];
  }
  await run.killAll([first!]);
  await run.clients.more(run.plan.away);
  return [await run.startAgain(first!), other!];
}

/** Resolves among the hand-overs: after some, and at any moment of the next one. */
export async function among(run: HarmedKv): Promise<void> {
  const moves = run.random.integer(0, MOST_MOVES);
  await run.calmly(() => run.leader()[0].moves(moves));
  await delay(run.random.integer(0, LONGEST_MOVE_MS));
}

/** While slots are handed over, the coordinator dies, or one of the servers, or nobody. */
async function oneDeath(run: HarmedKv, way: Way): Promise<void> {
  const servers = await begin(run, way);
  await among(run);
  const victim = run.random.pick([...servers, run.cluster.coordinator, undefined]);
  if (victim !== undefined) await kill(run, [victim]);
}

/** A server is drained, and gets slots again, so that some slots are at it for a second time; then a server dies. */
async function drain(run: HarmedKv): Promise<void> {
  if (run.plan.away > 30) return oneDeath(run, 'drain');
  const { coordinator } = run.cluster;
  const before = coordinator.balances;
  const [first, other] = await begin(run, 'drain');
  await run.calmly(() => coordinator.balanced(before));
  await run.clients.more(run.plan.after);
  const again = coordinator.balances;
  run.note(`end of the drain of ${first.name}: ${await other.admin('UNDRAIN', first.id)}`);
  await run.calmly(() => coordinator.balanced(again));
  await run.clients.more(run.plan.after);
  await run.killAll([run.random.pick([first, other])]);
}

/** Two of source or target, another server, and the coordinator die, at once or one after the other. */
async function twoDeaths(run: HarmedKv): Promise<void> {
  const way = run.random.pick(['return', 'join', 'drain'] as const);
  const servers = await begin(run, way);
  const { coordinator } = run.cluster;
  // A replica may have been lost with the server that has returned: of the servers only one more may die then.
  const victims =
    way === 'return'
      ? run.random.shuffled([run.random.pick(servers), coordinator])
      : run.random.shuffled([...servers, coordinator]).slice(0, 2);
  await among(run);
  const betweenMs = run.random.integer(0, run.random.pick(BETWEEN_MS));
  if (betweenMs === 0) return kill(run, victims);
  await run.killAll(victims.slice(0, 1));
  await run.calmly(() => delay(betweenMs));
  await kill(run, victims.slice(1), victims[0]);
}

/** The coordinator that leads is killed, or stopped and continued later; a standby follows it. A server may die meanwhile, or then. */
async function standby(run: HarmedKv): Promise<void> {
  const servers = await begin(run, run.random.pick(['return', 'join', 'drain'] as const));
  const death = run.random.pick(['none', 'meanwhile', 'then'] as const);
  const killed = death === 'none' ? [] : [run.random.pick(servers)];
  run.killed = killed;
  await among(run);
  await changeLead(run, { death, killed, where: ', among hand-overs' });
  run.requireCoordinators();
}

/**
 * The host of source or target, of another server, of the coordinator that leads, or of etcd is cut off, for shorter or longer than the
 * others wait, and joined again. Clients reach a server that is cut off.
 */
async function partition(run: HarmedKv): Promise<void> {
  const lab = run.cluster.lab!;
  const [moved, other] = await begin(run, run.random.pick(['return', 'drain'] as const));
  await among(run);
  const [leader] = run.leader();
  const leading = hostOf(run.cluster.coordinators.indexOf(leader));
  const server = run.random.pick([moved, moved, other]);
  const serving = hostOfServer(run.cluster.servers.indexOf(server) + 1);
  const host = run.random.pick([serving, serving, leading, ETCD_HOST]);
  // A server that was cut off for long ends when it hears that others have its slots.
  run.killed = host === serving ? [server] : [];
  run.note(`the link of ${host} is cut, among hand-overs; ${leader.name} leads`);
  await lab.cut(host);
  await run.calmly(() => delay(run.random.integer(...PAUSE_MS)));
  await lab.heal(host);
  run.note(`${host} is joined again`);
  await run.calmly(() => run.untilOneLeads());
  await run.clients.more(run.plan.away);
  run.requireCoordinators();
}

/** Kills processes at once. A coordinator is started again, and then no server may have ended by itself, but these. */
async function kill(run: HarmedKv, victims: readonly KvProcess[], before?: KvProcess): Promise<void> {
  await run.killAll(victims);
  const { coordinator } = run.cluster;
  const all = before ? [before, ...victims] : victims;
  if (!all.includes(coordinator)) return;
  await run.coordinate();
  run.requireAll(all);
}
