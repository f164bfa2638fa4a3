import type { HarmedKv } from './harmed-kv.js';
import type { KvProcess } from './kv-server.js';

export interface LeadChange {
  /** When these servers die: with the leader, or when another one leads. */
  readonly death: string;
  readonly killed: readonly KvProcess[];
  /** More for the note: where the hand-overs are that this comes among. */
  readonly where?: string;
  /** Before the former leader is back. */
  readonly awhile?: () => Promise<unknown>;
}

/** The coordinator that leads is killed, or stopped; another one follows it, and it waits in turn when it is back. */
export async function changeLead(
  run: HarmedKv,
  { death, killed, where = '', awhile }: LeadChange,
): Promise<void> {
  const [leader, term] = run.leader();
  const isStop = run.random.integer(0, 1) === 1;
  run.note(`${isStop ? 'SIGSTOP' : 'kill -9'} of ${leader.name}, which leads in term ${term}${where}`);
  if (isStop) leader.signal('SIGSTOP');
  else await leader.kill('SIGKILL');
  if (death === 'meanwhile') await run.killAll(killed);
  const others = run.cluster.coordinators.filter((each) => each !== leader);
  await run.calmly(() => Promise.race(others.map((each) => each.leads(term))));
  run.note(`${run.leader(leader)[0].name} leads`);
  if (death === 'then') await run.killAll(killed);
  await run.clients.more(run.plan.away);
  if (awhile) await run.calmly(awhile);
  if (isStop) leader.signal('SIGCONT');
  await run.calmly(async () => (isStop ? leader.waits() : run.cluster.rejoinCoordinator(leader)));
}
