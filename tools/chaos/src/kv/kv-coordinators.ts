// Scenarios in which a coordinator is stopped, cut off, or followed by another one.
import { setTimeout as delay } from 'node:timers/promises';
import { changeLead } from './change-lead.js';
import type { Deeds, HarmedKv } from './harmed-kv.js';
import { ETCD_HOST, hostOf } from './kv-places.js';
import { LONGEST_TAKEOVER_MS, PAUSE_MS } from './kv-plan.js';

export const COORDINATORS: Deeds = {
  'kv-coordinator-pause': pauseCoordinator,
  'kv-standby': followEachOther,
  'kv-partition': cutOff,
};

/** The coordinator is stopped, and continues. A server may die before, so that the takeover is stopped, or meanwhile, or then. */
async function pauseCoordinator(run: HarmedKv): Promise<void> {
  const { coordinator } = run.cluster;
  const pauseMs = run.random.integer(...PAUSE_MS);
  const death = run.random.pick(['none', 'before', 'meanwhile', 'then'] as const);
  const earlyMs = death === 'meanwhile' ? run.random.integer(0, pauseMs) : pauseMs;
  const killed = death === 'none' ? [] : [run.random.pick(run.living())];
  run.killed = killed;
  await run.calmly(async () => {
    if (death === 'before') {
      await run.killAll(killed);
      await delay(run.random.integer(0, LONGEST_TAKEOVER_MS));
    }
    run.note('SIGSTOP of the coordinator');
    coordinator.signal('SIGSTOP');
    await delay(earlyMs);
    if (death !== 'before') await run.killAll(killed);
    await delay(pauseMs - earlyMs);
  });
  run.note(`SIGCONT of the coordinator, after ${pauseMs} ms`);
  coordinator.signal('SIGCONT');
  await run.clients.more(run.plan.away);
}

/**
 * The coordinator that leads is killed or stopped, again and again; another one follows it, and it waits in turn when it is back. In
 * one of the rounds a server dies: before, at the same moment, or when the next one leads.
 */
async function followEachOther(run: HarmedKv): Promise<void> {
  const rounds = run.random.integer(1, 3);
  const death = run.random.pick(['none', 'before', 'meanwhile', 'then'] as const);
  const fatal = run.random.integer(1, rounds);
  run.killed = death === 'none' ? [] : [run.random.pick(run.living())];
  for (let round = 1; round <= rounds; round += 1) {
    const killed = round === fatal ? run.killed : [];
    if (death === 'before') await run.killAll(killed);
    await changeLead(run, { death, killed, awhile: () => delay(run.random.integer(0, LONGEST_TAKEOVER_MS)) });
  }
  run.requireCoordinators();
}

/**
 * Hosts are cut off, and joined again: the coordinator that leads, a standby, or etcd, for shorter or longer than the others wait. In
 * the end one coordinator leads, and the others wait; nothing has ended.
 */
async function cutOff(run: HarmedKv): Promise<void> {
  const lab = run.cluster.lab!;
  run.killed = [];
  const rounds = run.random.integer(1, 3);
  for (let round = 1; round <= rounds; round += 1) {
    const [leader] = run.leader();
    const led = run.cluster.coordinators.indexOf(leader);
    const other = run.cluster.coordinators.findIndex((each) => each !== leader);
    const host = run.random.pick([hostOf(led), hostOf(led), hostOf(other), ETCD_HOST]);
    run.note(`the link of ${host} is cut; ${leader.name} leads`);
    await lab.cut(host);
    await run.clients.more(run.plan.away);
    await run.calmly(() => delay(run.random.integer(...PAUSE_MS)));
    await lab.heal(host);
    run.note(`${host} is joined again`);
    await run.calmly(() => run.untilOneLeads());
    await run.clients.more(run.plan.away);
  }
  run.requireCoordinators();
}
