import { setTimeout as delay } from 'node:timers/promises';
import { createLab, type Netlab } from '@rdmc/netlab';
import { check, type Violation } from '../checker/check.js';
import { Clients } from '../cluster/clients.js';
import { Cluster } from '../cluster/cluster.js';
import type { MemberProcess, Outcome } from '../cluster/member-process.js';
import { smallDisk } from '../cluster/small-disk.js';
import type { Chances } from '../random.js';
import type { Subject } from './judge.js';
import { type Drawn, NEEDS_LAB, type Plan } from './plan.js';

const TAKE_OVER_MS = 60_000;
const RETRY_MS = 100;

/** A cluster under load, whose primary a scenario may change. */
export class Run implements Subject {
  readonly cluster: Cluster;
  readonly clients: Clients;
  /** The events of the run, in order, as text. */
  readonly events: string[] = [];
  logId = '';
  #primary = 0;
  #former: number | undefined;

  private constructor(
    readonly plan: Plan,
    readonly random: Chances,
    readonly lab: Netlab | undefined,
    private readonly deed: (run: Run) => Promise<Violation[]>,
  ) {
    this.cluster = new Cluster(plan.shape, lab);
    this.clients = new Clients({
      clients: plan.clients,
      random,
      primary: () => this.primary,
      former: () => (this.#former === undefined ? undefined : this.cluster.server(this.#former)),
    });
  }

  static async create({ plan, random }: Drawn, deed: Run['deed']): Promise<Run> {
    const hosts = plan.shape.servers + 1;
    const lab = NEEDS_LAB.includes(plan.scenario) ? await createLab({ hosts }) : undefined;
    return new Run(plan, random, lab, deed);
  }

  get label(): string {
    return `r=${this.plan.shape.replicas}`;
  }

  get load(): Clients {
    return this.clients;
  }

  get primary(): MemberProcess {
    return this.cluster.server(this.#primary);
  }

  async carryOut(): Promise<Violation[]> {
    const { deed, plan } = this;
    if (plan.scenario === 'full-disk') await mountSmallDisks(this.cluster);
    await this.#begin();
    return deed(this);
  }

  said(): [string, string][] {
    const all = [...this.cluster.servers, this.cluster.coordinator].filter((member) => member !== undefined);
    return all.map((member) => [String(member.id), member.report()]);
  }

  /** Starts the cluster, a log at server 0, and the clients. */
  async #begin(): Promise<void> {
    await this.cluster.start();
    this.note('started');
    this.logId = String(answerOf('lead', await this.primary.ask({ do: 'lead' }, TAKE_OVER_MS)));
    this.clients.start();
    await this.clients.more(this.plan.before);
  }

  /** The live servers without the primary. */
  get others(): MemberProcess[] {
    return this.cluster.servers.filter(({ id, gone }) => id !== this.#primary && !gone);
  }

  /** The backups of the segment that is being written. */
  async backups(): Promise<MemberProcess[]> {
    const ids = answerOf('backups', await this.primary.ask({ do: 'backups' }, TAKE_OVER_MS)) as number[];
    return ids.map((id) => this.cluster.server(id));
  }

  /** Another server recovers the log and is the primary from then on; rejects when recovery reports missing data. */
  async takeOver(candidates: readonly MemberProcess[] = this.others): Promise<void> {
    const successor = this.random.pick(candidates);
    const deadline = performance.now() + TAKE_OVER_MS;
    this.note(`server ${successor.id} takes over log ${this.logId}`);
    for (;;) {
      const outcome = await successor.ask({ do: 'take-over', logId: this.logId }, TAKE_OVER_MS);
      if (outcome.kind === 'answered') {
        this.logId = String(outcome.result);
        break;
      }
      const why = outcome.kind === 'refused' ? outcome.refusal : { code: 'silent', message: 'no answer' };
      this.note(`it cannot recover yet: ${why.code} ${why.message}`);
      if (why.code === 'ERR_RDMC_LOG_INCOMPLETE' || performance.now() > deadline)
        throw new RecoveryFailed(why);
      await delay(RETRY_MS);
    }
    this.#former = this.#primary;
    this.#primary = successor.id;
    this.note(`server ${successor.id} serves log ${this.logId}`);
  }

  /** Starts all processes again, without a primary. */
  async restart(): Promise<void> {
    await this.cluster.start();
    this.#former = undefined;
    this.note('started again');
  }

  async kill(member: MemberProcess): Promise<void> {
    this.note(`kill -9 of member ${member.id}`);
    await member.kill();
  }

  /** Checks that the cluster still works, then reads every key and checks the whole history. */
  async judge(): Promise<Violation[]> {
    await this.clients.more(this.plan.after);
    await this.clients.stop();
    return this.judgeReads();
  }

  async judgeReads(): Promise<Violation[]> {
    const last = await this.clients.readAll();
    return check(this.clients.operations, this.clients.together, last);
  }

  note(event: string): void {
    this.events.push(
      `${performance.now().toFixed(0)} ms, ${this.clients.acknowledged} acknowledged: ${event}`,
    );
  }

  async remove(): Promise<void> {
    await this.cluster.remove();
    await this.lab?.destroy();
  }
}

/** To be called before the cluster is started. */
async function mountSmallDisks(cluster: Cluster): Promise<void> {
  for (let id = 0; id < cluster.shape.servers; id += 1)
    cluster.onRemove(await smallDisk(cluster.directoryOf(id)));
}

export class RecoveryFailed extends Error {
  constructor(readonly why: { readonly code: string; readonly message: string }) {
    super(`recovery failed: ${why.code} ${why.message}`);
  }
}

function answerOf(what: string, outcome: Outcome): unknown {
  if (outcome.kind === 'answered') return outcome.result;
  const why = outcome.kind === 'refused' ? `${outcome.refusal.code} ${outcome.refusal.message}` : 'no answer';
  throw new Error(`${what}: ${why}`);
}
