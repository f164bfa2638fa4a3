import { setTimeout as delay } from 'node:timers/promises';
import { check, type Violation } from '../checker/check.js';
import { Clients } from '../cluster/clients.js';
import type { Chances } from '../random.js';
import type { Subject } from '../run/judge.js';
import type { Deeds } from './harmed-kv.js';
import { KvCluster } from './kv-cluster.js';
import { COORDINATORS } from './kv-coordinators.js';
import { DISKS } from './kv-disks.js';
import { LEAVES } from './kv-leaves.js';
import { MOVES } from './kv-moves.js';
import { type DrawnKv, type KvPlan, LONGEST_TAKEOVER_MS, placeOf, SMALL_DISKS } from './kv-plan.js';
import type { KvProcess } from './kv-server.js';
import { TWINS } from './kv-twins.js';

/** Scenarios in files of their own. */
const DEEDS: Deeds = { ...COORDINATORS, ...MOVES, ...TWINS, ...LEAVES, ...DISKS };
/** Of the disk of each server: some closed segments fit. */
const DISK_SIZE = '64m';

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
    const { scenario, shape } = plan;
    const diskSize = SMALL_DISKS.includes(scenario) ? DISK_SIZE : undefined;
    this.cluster = new KvCluster(shape, placeOf(scenario), diskSize);
    this.clients = new Clients({
      clients: plan.clients,
      random,
      primary: () => random.pick(this.#asked()),
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
    if (scenario === 'kv-return') return this.#return();
    const deed = DEEDS[scenario];
    if (deed) return deed(this);
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

  /** Clients also ask a process that runs although another one has its id. */
  #asked(): KvProcess[] {
    return [...this.living(), ...this.cluster.replaced.filter(({ gone }) => !gone)];
  }

  note(event: string): void {
    this.events.push(
      `${performance.now().toFixed(0)} ms, ${this.clients.acknowledged} acknowledged: ${event}`,
    );
  }
}
