import { setTimeout as delay } from 'node:timers/promises';
import { check, type Violation } from '../checker/check.js';
import { Clients } from '../cluster/clients.js';
import type { Chances } from '../random.js';
import type { Subject } from '../run/judge.js';
import { KvCluster } from './kv-cluster.js';
import type { DrawnKv, KvPlan } from './kv-plan.js';
import type { KvProcess } from './kv-server.js';

const LONGEST_STOP_MS = 15_000;
/** Between two requests of a client while a server is stopped. */
const CALM_MS = 20;

/** A cluster of kv under load: every server takes any command, and takes over logs of dead servers by itself. */
export class KvRun implements Subject {
  readonly cluster: KvCluster;
  readonly clients: Clients;
  readonly events: string[] = [];

  readonly plan: KvPlan;
  readonly #random: Chances;

  constructor({ plan, random }: DrawnKv) {
    this.plan = plan;
    this.#random = random;
    this.cluster = new KvCluster(plan.shape);
    this.clients = new Clients({
      clients: plan.clients,
      random,
      primary: () => random.pick(this.#living()),
      former: () => undefined,
    });
  }

  async carryOut(): Promise<Violation[]> {
    const { scenario, before, after, tearAfterBytes } = this.plan;
    const tears = { RDMC_SOFT_TEAR: String(tearAfterBytes) };
    await this.cluster.start(
      (server): Record<string, string> => (scenario === 'kv-torn' && server === 1 ? tears : {}),
    );
    this.#note('started');
    this.clients.start();
    await this.clients.more(before);
    await this.#harm();
    await this.clients.more(after);
    await this.clients.stop();
    const last = await this.clients.readAll();
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
    const victims = this.#random.shuffled(this.#living());
    const [first] = victims;
    if (scenario === 'kv-torn') {
      const torn = this.cluster.servers[0]!;
      this.#note(`${torn.name} dies after ${tearAfterBytes} bytes of writes`);
      while (!torn.gone) await delay(5);
    } else if (scenario === 'kv-stopped') await this.#stop(first!);
    else {
      // For each log of these servers: its primary, and r − 1 of its backups.
      const dead = scenario === 'kv-server' ? [first!] : victims.slice(0, shape.replicas);
      this.#note(`kill -9 of ${dead.map(({ name }) => name).join(', ')}`);
      await Promise.all(dead.map((each) => each.kill('SIGKILL')));
    }
  }

  async #power(): Promise<void> {
    this.#note('SIGTERM to all');
    await this.cluster.powerFailure();
    await this.clients.stop();
    await this.cluster.start();
    this.#note('started again');
    this.clients.start();
  }

  /** Stops a server until the others have taken over: then the keys that it had are writable. */
  async #stop(victim: KvProcess): Promise<void> {
    this.#note(`SIGSTOP of ${victim.name}`);
    victim.signal('SIGSTOP');
    await this.clients.more(this.plan.after);
    this.clients.betweenMs = CALM_MS;
    await delay(this.#random.integer(0, LONGEST_STOP_MS));
    this.clients.betweenMs = 0;
    this.#note(`SIGCONT of ${victim.name}`);
    victim.signal('SIGCONT');
  }

  #living(): KvProcess[] {
    const living = this.cluster.servers.filter(({ gone }) => !gone);
    return living.length > 0 ? living : [...this.cluster.servers];
  }

  #note(event: string): void {
    this.events.push(
      `${performance.now().toFixed(0)} ms, ${this.clients.acknowledged} acknowledged: ${event}`,
    );
  }
}
