import { setTimeout as delay } from 'node:timers/promises';
import { check, type Violation } from '../checker/check.js';
import { Clients } from '../cluster/clients.js';
import type { Chances } from '../random.js';
import type { Subject } from '../run/judge.js';
import { KvCluster } from './kv-cluster.js';
import { MOVES } from './kv-moves.js';
import { ETCD_HOST, hostOf } from './kv-places.js';
import { type DrawnKv, type KvPlan, LONGEST_TAKEOVER_MS, PAUSE_MS, placeOf } from './kv-plan.js';
import type { KvProcess } from './kv-server.js';

const LONGEST_STOP_MS = 15_000;
/** Between two requests of a client while the run waits for a time or for processes that start. */
const CALM_MS = 20;

/** A cluster of kv under load: every server takes any command, and takes over logs of dead servers by itself. */
export class KvRun implements Subject {
  readonly cluster: KvCluster;
  readonly clients: Clients;
  readonly events: string[] = [];

  readonly plan: KvPlan;
  readonly random: Chances;
  /** Where no server may end by itself: those that were killed. */
  killed: KvProcess[] | undefined;

  constructor({ plan, random }: DrawnKv) {
    this.plan = plan;
    this.random = random;
    this.cluster = new KvCluster(plan.shape, placeOf(plan.scenario));
    this.clients = new Clients({
      clients: plan.clients,
      random,
      primary: () => random.pick(this.living()),
      former: () => undefined,
    });
  }

  get label(): string {
    return `r=${this.plan.shape.replicas}`;
  }

  get load(): Clients {
    return this.clients;
  }

  async carryOut(): Promise<Violation[]> {
    const { scenario, before, after, tearAfterBytes } = this.plan;
    const tears = { RDMC_SOFT_TEAR: String(tearAfterBytes) };
    await this.cluster.start(
      (server): Record<string, string> => (scenario === 'kv-torn' && server === 1 ? tears : {}),
    );
    this.note('started');
    this.clients.start();
    await this.clients.more(before);
    await this.#harm();
    await this.clients.more(after);
    await this.clients.stop();
    const last = await this.clients.readAll();
    // Reads need leases: each server that has keys has found the coordinator again.
    if (this.killed) this.requireAll(this.killed);
    return check(this.clients.operations, this.clients.together, last);
  }

  said(): [string, string][] {
    return this.cluster.processes.map((each) => [each.name, each.report()]);
  }

  remove(): Promise<void> {
    return this.cluster.remove();
  }

  async #harm(): Promise<void> {
    const { scenario, shape, tearAfterBytes } = this.plan;
    if (scenario === 'kv-power') return this.#power();
    if (scenario === 'kv-coordinator') return this.#awayCoordinator([]);
    if (scenario === 'kv-coordinator-pause') return this.#pauseCoordinator();
    if (scenario === 'kv-return') return this.#return();
    const move = MOVES[scenario];
    if (move) return move(this);
    if (scenario === 'kv-standby') return this.#followEachOther();
    if (scenario === 'kv-partition') return this.#cutOff();
    const victims = this.random.shuffled(this.living());
    const [first] = victims;
    if (scenario === 'kv-torn') {
      const torn = this.cluster.servers[0]!;
      this.note(`${torn.name} dies after ${tearAfterBytes} bytes of writes`);
      while (!torn.gone) await delay(5);
    } else if (scenario === 'kv-stopped') await this.#stop(first!);
    else if (scenario === 'kv-coordinator-server') await this.#awayCoordinator([first!]);
    else if (scenario === 'kv-takeover') await this.#duringTakeover(first!);
    else {
      // For each log of these servers: its primary, and r − 1 of its backups.
      const dead = scenario === 'kv-server' ? [first!] : victims.slice(0, shape.replicas);
      await this.killAll(dead);
    }
  }

  /** The coordinator dies, with servers or alone, and is started again; then the servers. Writes to the others go on. */
  async #awayCoordinator(servers: readonly KvProcess[]): Promise<void> {
    const { coordinator } = this.cluster;
    this.note(`kill -9 of ${[coordinator, ...servers].map(({ name }) => name).join(', ')}`);
    await Promise.all([coordinator, ...servers].map((each) => each.kill('SIGKILL')));
    if (servers.length === 0) await this.clients.more(this.plan.away);
    await this.coordinate();
    for (const server of servers) await this.startAgain(server);
    this.requireAll();
  }

  /** The coordinator is stopped, and continues. A server may die before, so that the takeover is stopped, or meanwhile, or then. */
  async #pauseCoordinator(): Promise<void> {
    const { coordinator } = this.cluster;
    const pauseMs = this.random.integer(...PAUSE_MS);
    const death = this.random.pick(['none', 'before', 'meanwhile', 'then'] as const);
    const earlyMs = death === 'meanwhile' ? this.random.integer(0, pauseMs) : pauseMs;
    this.killed = death === 'none' ? [] : [this.random.pick(this.living())];
    this.clients.betweenMs = CALM_MS;
    if (death === 'before') {
      await this.killAll(this.killed);
      await delay(this.random.integer(0, LONGEST_TAKEOVER_MS));
    }
    this.note('SIGSTOP of the coordinator');
    coordinator.signal('SIGSTOP');
    await delay(earlyMs);
    if (death !== 'before') await this.killAll(this.killed);
    await delay(pauseMs - earlyMs);
    this.clients.betweenMs = 0;
    this.note(`SIGCONT of the coordinator, after ${pauseMs} ms`);
    coordinator.signal('SIGCONT');
    await this.clients.more(this.plan.away);
  }

  /**
   * The coordinator that leads is killed or stopped, again and again; another one follows it, and it waits in turn when it is back. In
   * one of the rounds a server dies: before, at the same moment, or when the next one leads.
   */
  async #followEachOther(): Promise<void> {
    const rounds = this.random.integer(1, 3);
    const death = this.random.pick(['none', 'before', 'meanwhile', 'then'] as const);
    const fatal = this.random.integer(1, rounds);
    this.killed = death === 'none' ? [] : [this.random.pick(this.living())];
    for (let round = 1; round <= rounds; round += 1) {
      const killed = round === fatal ? this.killed : [];
      if (death === 'before') await this.killAll(killed);
      const [leader, term] = this.leader();
      const isStop = this.random.integer(0, 1) === 1;
      this.note(`${isStop ? 'SIGSTOP' : 'kill -9'} of ${leader.name}, which leads in term ${term}`);
      if (isStop) leader.signal('SIGSTOP');
      else await leader.kill('SIGKILL');
      if (death === 'meanwhile') await this.killAll(killed);
      const others = this.cluster.coordinators.filter((each) => each !== leader);
      await this.calmly(() => Promise.race(others.map((each) => each.leads(term))));
      this.note(`${this.leader(leader)[0].name} leads`);
      if (death === 'then') await this.killAll(killed);
      await this.clients.more(this.plan.away);
      await this.calmly(() => delay(this.random.integer(0, LONGEST_TAKEOVER_MS)));
      if (isStop) leader.signal('SIGCONT');
      await this.calmly(async () => (isStop ? leader.waits() : this.cluster.rejoinCoordinator(leader)));
    }
    this.requireCoordinators();
  }

  /**
   * Hosts are cut off, and joined again: the coordinator that leads, a standby, or etcd, for shorter or longer than the others wait. In
   * the end one coordinator leads, and the others wait; nothing has ended.
   */
  async #cutOff(): Promise<void> {
    const lab = this.cluster.lab!;
    this.killed = [];
    const rounds = this.random.integer(1, 3);
    for (let round = 1; round <= rounds; round += 1) {
      const [leader] = this.leader();
      const led = this.cluster.coordinators.indexOf(leader);
      const other = this.cluster.coordinators.findIndex((each) => each !== leader);
      const host = this.random.pick([hostOf(led), hostOf(led), hostOf(other), ETCD_HOST]);
      this.note(`the link of ${host} is cut; ${leader.name} leads`);
      await lab.cut(host);
      await this.clients.more(this.plan.away);
      await this.calmly(() => delay(this.random.integer(...PAUSE_MS)));
      await lab.heal(host);
      this.note(`${host} is joined again`);
      await this.calmly(() => this.untilOneLeads());
      await this.clients.more(this.plan.away);
    }
    this.requireCoordinators();
  }

  /** As far as all of them know: a coordinator that was cut off hears of it after a while. */
  async untilOneLeads(): Promise<void> {
    const leading = (): number => this.cluster.coordinators.filter(({ term }) => term > 0).length;
    while (leading() !== 1) {
      if (this.cluster.coordinators.every(({ gone }) => gone)) throw new Error('no coordinator runs');
      await delay(CALM_MS);
    }
  }

  /** The coordinator with the highest term, and that term. */
  leader(but?: KvProcess): [KvProcess, number] {
    const all = this.cluster.coordinators.filter((each) => each !== but);
    const leader = all.reduce((one, other) => (other.term > one.term ? other : one));
    return [leader, leader.term];
  }

  async killAll(victims: readonly KvProcess[]): Promise<void> {
    if (victims.length > 0) this.note(`kill -9 of ${victims.map(({ name }) => name).join(', ')}`);
    await Promise.all(victims.map((each) => each.kill('SIGKILL')));
  }

  /** The coordinator dies while a dead server's log is taken over, at any moment of that. */
  async #duringTakeover(victim: KvProcess): Promise<void> {
    this.note(`kill -9 of ${victim.name}, then of the coordinator`);
    await victim.kill('SIGKILL');
    await this.calmly(() => delay(this.random.integer(0, LONGEST_TAKEOVER_MS)));
    await this.cluster.coordinator.kill('SIGKILL');
    await this.coordinate();
    if (this.plan.away > 50) await this.startAgain(victim);
    this.requireAll(this.plan.away > 50 ? [] : [victim]);
  }

  /** A server dies and returns; when it is a backup again, another one dies. */
  async #return(): Promise<void> {
    const [first, second] = this.random.shuffled(this.living());
    this.note(`kill -9 of ${first!.name}`);
    await first!.kill('SIGKILL');
    await this.clients.more(this.plan.away);
    await this.startAgain(first!);
    await this.clients.more(this.plan.after);
    this.note(`kill -9 of ${second!.name}`);
    await second!.kill('SIGKILL');
    await this.clients.more(this.plan.after);
    this.requireAll([second!]);
  }

  async coordinate(): Promise<void> {
    await this.calmly(() => this.cluster.restartCoordinator());
    this.note('the coordinator was started again, and every slot has a server');
  }

  async startAgain(server: KvProcess): Promise<KvProcess> {
    const { hasFiles } = this.plan;
    const started = await this.calmly(() => this.cluster.restartServer(server, hasFiles));
    this.note(`${server.name} was started again, ${hasFiles ? 'with' : 'without'} its files`);
    return started;
  }

  /** No coordinator has ended by itself. */
  requireCoordinators(): void {
    const ended = this.cluster.coordinators.filter(({ gone }) => gone);
    if (ended.length > 0) throw new Error(`ended by itself: ${ended.map(({ name }) => name).join(', ')}`);
  }

  /** No server has ended by itself. */
  requireAll(but: readonly KvProcess[] = []): void {
    const ended = this.cluster.servers.filter((server) => server.gone && !but.includes(server));
    if (ended.length > 0) throw new Error(`ended by itself: ${ended.map(({ name }) => name).join(', ')}`);
  }

  async #power(): Promise<void> {
    this.note('SIGTERM to all');
    await this.cluster.powerFailure();
    await this.clients.stop();
    await this.cluster.start();
    this.note('started again');
    this.clients.start();
  }

  /** Stops a server until the others have taken over: then the keys that it had are writable. */
  async #stop(victim: KvProcess): Promise<void> {
    this.note(`SIGSTOP of ${victim.name}`);
    victim.signal('SIGSTOP');
    await this.clients.more(this.plan.after);
    await this.calmly(() => delay(this.random.integer(0, LONGEST_STOP_MS)));
    this.note(`SIGCONT of ${victim.name}`);
    victim.signal('SIGCONT');
  }

  /** Clients go on, and leave the processors to what is waited for. */
  async calmly<T>(wait: () => Promise<T>): Promise<T> {
    this.clients.betweenMs = CALM_MS;
    try {
      return await wait();
    } finally {
      this.clients.betweenMs = 0;
    }
  }

  living(): KvProcess[] {
    const living = this.cluster.servers.filter(({ gone }) => !gone);
    return living.length > 0 ? living : [...this.cluster.servers];
  }

  note(event: string): void {
    this.events.push(
      `${performance.now().toFixed(0)} ms, ${this.clients.acknowledged} acknowledged: ${event}`,
    );
  }
}
