import { check, type Violation } from '../checker/check.js';
import { Clients } from '../cluster/clients.js';
import type { Chances } from '../random.js';
import type { Subject } from '../run/judge.js';
import { KvCluster } from './kv-cluster.js';
import { replicaVersions, stateFormat } from './kv-formats.js';
import type { DrawnKv, KvPlan } from './kv-plan.js';
import { type KvRelease, LEVEL, NEXT_LEVEL, releases } from './kv-release.js';
import type { KvProcess } from './kv-server.js';
import { statusOf, untilStatus } from './kv-status.js';

/** Between two requests of a client during a wait. */
const CALM_MS = 20;

/**
 * A cluster under load whose processes are replaced one at a time by those of the next release: some of them; back; all; then it is
 * finalized. Until then files have the formats of the release before. Afterwards processes of that release are refused.
 */
export class KvUpgrade implements Subject {
  readonly cluster: KvCluster;
  readonly clients: Clients;
  readonly events: string[] = [];
  readonly plan: KvPlan;
  readonly #random: Chances;
  readonly #releases = releases();

  constructor({ plan, random }: DrawnKv) {
    this.plan = plan;
    this.#random = random;
    this.cluster = new KvCluster(plan.shape);
    this.clients = new Clients({
      clients: plan.clients,
      random,
      primary: () => this.#anyServer(),
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
    const { before, after } = this.#releases;
    const { cluster, clients, plan } = this;
    cluster.release = before;
    await cluster.start();
    this.#note('started');
    clients.start();
    await clients.more(plan.before);
    const members = Array.from({ length: plan.shape.servers + 1 }, (_, member) => member);
    // Not all: some of the release before must be left.
    const first = this.#random.shuffled(members).slice(0, this.#random.integer(1, plan.shape.servers));
    for (const member of first) await this.#replace(member, after);
    await this.#refusedToFinalize();
    for (const member of this.#random.shuffled(first)) await this.#replace(member, before);
    await this.#require(LEVEL);
    for (const member of this.#random.shuffled(members)) await this.#replace(member, after);
    await this.#require(LEVEL);
    await this.#finalize();
    await clients.more(plan.after);
    await this.#refuse(0, before, 'ERR_RDMC_STATE_FOREIGN_VERSION');
    await this.#refuse(await this.#busiestBackup(), before, 'ERR_RDMC_KV_LEVEL');
    await clients.more(plan.after);
    await clients.stop();
    return check(clients.operations, clients.together, await clients.readAll());
  }

  said(): [string, string][] {
    return this.cluster.processes.map((each) => [each.name, each.report()]);
  }

  remove(): Promise<void> {
    return this.cluster.remove();
  }

  /** What the README tells an operator to do: SIGTERM, the other release on the same files, and the wait for a status without problems. */
  async #replace(member: number, release: KvRelease): Promise<void> {
    await this.#end(member);
    await this.#start(member, release);
    await this.clients.more(this.plan.away);
  }

  async #end(member: number): Promise<void> {
    const former = this.#processOf(member);
    const { code } = await former.kill('SIGTERM');
    if (code !== 0) throw new Error(`it did not end with 0 on SIGTERM: ${former.report()}`);
    if (member === 0) return;
    // It has written the replicas that it had in memory.
    const { directory } = this.cluster;
    const versions = replicaVersions(directory, member);
    const level = stateFormat(directory);
    this.#note(`${former.name} has ended; its files have versions ${versions.join() || '(no files)'}`);
    if (versions.some((version) => version > level))
      throw new Error(`server ${member} wrote files of a level above ${level}`);
  }

  async #start(member: number, release: KvRelease): Promise<void> {
    const former = this.#processOf(member);
    const { cluster } = this;
    cluster.release = release;
    await this.#calmly(async () => {
      if (member === 0) await cluster.restartCoordinator();
      else await cluster.restartServer(former, true);
      await untilStatus(
        () => this.#anyServer(),
        ({ isHealthy }) => isHealthy,
      );
    });
    this.#note(`${former.name} is one of ${release.name} now`);
  }

  async #refusedToFinalize(): Promise<void> {
    const reply = await this.#anyServer().adminReply('FINALIZE');
    const error = reply && 'error' in reply ? reply.error : JSON.stringify(reply);
    if (!error?.includes('ERR_RDMC_KV_NOT_FINALIZED'))
      throw new Error(`it could be finalized with members of the release before: ${error}`);
  }

  async #finalize(): Promise<void> {
    const answer = await this.#anyServer().admin('FINALIZE');
    if (answer !== JSON.stringify({ before: LEVEL, level: NEXT_LEVEL }))
      throw new Error(`it could not be finalized: ${answer}`);
    this.#note('finalized');
    await this.#require(NEXT_LEVEL);
  }

  /** The cluster has this level, and no file has the formats of a higher one. */
  async #require(level: number): Promise<void> {
    const { directory } = this.cluster;
    const told = (await statusOf(this.#anyServer()))?.coordinator.facts?.level;
    const stored = stateFormat(directory);
    const servers = Array.from({ length: this.plan.shape.servers }, (_, index) => index + 1);
    const highest = Math.max(0, ...servers.flatMap((server) => replicaVersions(directory, server)));
    this.#note(`level ${told}; format of the state ${stored}; highest version of a replica ${highest}`);
    if (told !== level || stored !== level || highest > level)
      throw new Error(`the cluster does not have level ${level}: ${this.events.at(-1)}`);
  }

  /** A process of the former release on the files of a member ends with this code, and one of the new release continues. */
  async #refuse(member: number, release: KvRelease, code: string): Promise<void> {
    await this.#end(member);
    const { directory } = this.cluster;
    if (member > 0 && !replicaVersions(directory, member).includes(NEXT_LEVEL))
      throw new Error(`server ${member} did not write its replicas in the formats of level ${NEXT_LEVEL}`);
    this.cluster.release = release;
    const stranger = this.cluster.launch(member);
    const { code: exit } = await this.#calmly(() => stranger.exited);
    if (exit !== 1 || !stranger.stderr.includes(code))
      throw new Error(`it was not refused with ${code}: ${stranger.report()}`);
    this.#note(`${stranger.name} of ${release.name} is refused`);
    await this.#start(member, this.#releases.after);
  }

  /** The server that has most replicas in memory only: it writes them when it ends. */
  async #busiestBackup(): Promise<number> {
    const used = ((await statusOf(this.#anyServer()))?.servers ?? []).map(
      ({ facts }) => facts?.backup.buffersUsed ?? 0,
    );
    return used.indexOf(Math.max(...used)) + 1;
  }

  #processOf(member: number): KvProcess {
    return member === 0 ? this.cluster.coordinator : this.cluster.servers[member - 1]!;
  }

  #anyServer(): KvProcess {
    const living = this.cluster.servers.filter(({ gone }) => !gone);
    return this.#random.pick(living.length > 0 ? living : [...this.cluster.servers]);
  }

  /** Clients go on, and leave the processors to what is waited for. */
  async #calmly<T>(wait: () => Promise<T>): Promise<T> {
    this.clients.betweenMs = CALM_MS;
    try {
      return await wait();
    } finally {
      this.clients.betweenMs = 0;
    }
  }

  #note(event: string): void {
    this.events.push(
      `${performance.now().toFixed(0)} ms, ${this.clients.acknowledged} acknowledged: ${event}`,
    );
  }
}
