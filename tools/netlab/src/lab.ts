import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { shapeHost, shapeUplink } from './build.js';
import { PATH_FREE_RATE } from './constants.js';
import { invalidOption, NetlabError } from './errors.js';
import { type Goodput, measureGoodput } from './goodput.js';
import { checkDelay, checkLoss } from './options.js';
import { type Host, namespacesOf, type Plan, type PlannedHost } from './plan.js';
import { explain } from './probe.js';
import { processesIn, signal } from './processes.js';
import { parseRate } from './rate.js';
import { removeLab } from './remove.js';
import { pathLines } from './shape.js';
import { writeState } from './state.js';
import { batch } from './tools.js';

/** Sets the host's name (in its own UTS namespace), then executes the command. */
const ENTER = 'echo "$0" 2>/dev/null >/proc/sys/kernel/hostname; exec "$@"';

/** A laboratory: hosts that are network namespaces, and the links and switches between them. */
export class Netlab {
  readonly #plan: Plan;
  readonly #children = new Set<ChildProcess>();
  readonly #forget: () => void;
  #destroyed = false;

  /** {@link createLab} creates labs, and {@link attachLab} finds them. */
  constructor(plan: Plan, forget: () => void) {
    this.#plan = plan;
    this.#forget = forget;
  }

  get name(): string {
    return this.#plan.name;
  }

  /** In the order in which they were given. */
  get hosts(): readonly Host[] {
    return this.#plan.hosts;
  }

  /** The host of that name. Throws ERR_RDMC_NETLAB_NO_HOST. */
  host(name: string): Host {
    return this.#host(name);
  }

  /**
   * The environment that describes the lab to a command: NETLAB (its name), NETLAB_HOSTS and NETLAB_ADDRESSES
   * (names and IPv4 addresses, separated by spaces).
   */
  get environment(): Readonly<Record<string, string>> {
    return {
      NETLAB: this.name,
      NETLAB_HOSTS: this.hosts.map((host) => host.name).join(' '),
      NETLAB_ADDRESSES: this.hosts.map((host) => host.ipv4).join(' '),
    };
  }

  /**
   * Starts a command inside a host; options and result are those of `child_process.spawn`. The child's pid is
   * the command's own. Names of the lab's hosts resolve there, and `hostname` is the host's. A command that
   * does not exist ends with 127, as in a shell.
   */
  exec(
    host: string,
    command: string,
    args: readonly string[] = [],
    options: SpawnOptions = {},
  ): ChildProcess {
    const { namespace } = this.#host(host);
    const into = ['netns', 'exec', namespace, 'unshare', '--uts', '--', 'sh', '-c', ENTER, host];
    const child = spawn('ip', [...into, command, ...args], {
      ...options,
      env: { ...(options.env ?? process.env), ...this.environment, NETLAB_HOST: host },
    });
    this.#children.add(child);
    const gone = () => this.#children.delete(child);
    child.once('exit', gone);
    child.once('error', gone);
    return child;
  }

  /** Cuts a host's link: packets are dropped silently in both directions, as behind a dead switch. */
  async cut(host: string): Promise<void> {
    await this.#switch(`link set ${this.#host(host).port} nomaster`);
  }

  /** Joins a host's link again. */
  async heal(host: string): Promise<void> {
    const { port, bridge } = this.#host(host);
    await this.#switch(`link set ${port} master ${bridge}`);
  }

  /** Cuts a whole rack from the others. */
  async cutRack(rack: number): Promise<void> {
    await this.#switch(`link set ${this.#rack(rack).up} nomaster`);
  }

  async healRack(rack: number): Promise<void> {
    const { up, bridge } = this.#rack(rack);
    await this.#switch(`link set ${up} master ${bridge}`);
  }

  /** Sets another rate for both directions of a host's link, such as `200mbit`. Queued packets stay queued. */
  async slow(host: string, rate: string): Promise<void> {
    parseRate(rate);
    await this.#reshape(host, { rate });
  }

  /**
   * Sets a rate for the traffic between two hosts only, in both directions: one slow path of a
   * network, as opposed to a slow host. Without a rate, it is again that of their links, which must have one.
   * Needs sch_htb and cls_u32.
   */
  async slowPath(a: string, b: string, rate?: string): Promise<void> {
    if (rate !== undefined) parseRate(rate);
    await this.#slowOneWay(this.#host(a), this.#host(b), rate);
    await this.#slowOneWay(this.#host(b), this.#host(a), rate);
    writeState(this.#plan);
  }

  /** The same for the link between a rack and the core. */
  async slowRack(rack: number, rate: string): Promise<void> {
    parseRate(rate);
    const planned = this.#rack(rack);
    const before = planned.uplink;
    planned.uplink = { ...before, rate };
    try {
      await shapeUplink(this.#plan, rack);
    } catch (error) {
      planned.uplink = before;
      throw error;
    }
    writeState(this.#plan);
  }

  /** Drops this share of the packets of both directions of a host's link, such as `1%`. Needs sch_netem. */
  async loss(host: string, share: string): Promise<void> {
    checkLoss(share);
    await this.#reshape(host, { loss: share });
  }

  /** Delays the packets of each direction of a host's link, such as `5ms`. Needs sch_netem. */
  async delay(host: string, time: string): Promise<void> {
    checkDelay(time);
    await this.#reshape(host, { delay: time });
  }

  /** Stops every process of a host (SIGSTOP). The kernel still answers for it. */
  pause(host: string): void {
    signal(this.processes(host), 'SIGSTOP');
  }

  /** Continues them (SIGCONT). */
  resume(host: string): void {
    signal(this.processes(host), 'SIGCONT');
  }

  /** Ids of the processes that run inside a host. */
  processes(host: string): number[] {
    return processesIn([this.#host(host).namespace]);
  }

  /** Measures one plain TCP stream of that many bytes: the baseline for comparisons. */
  goodput(
    from: string,
    to: string,
    bytes: number,
    options: { readonly signal?: AbortSignal } = {},
  ): Promise<Goodput> {
    return measureGoodput(this, from, to, bytes, options.signal);
  }

  /** Kills every process inside the lab's hosts and removes the lab. A second call has no effect. */
  async destroy(): Promise<void> {
    if (this.#destroyed) return;
    this.#destroyed = true;
    this.#forget();
    this.removeNow();
  }

  /** As `destroy`, synchronously, for the end of the process. */
  removeNow(): void {
    const pids = [...this.#children].flatMap((child) => child.pid ?? []);
    removeLab(this.name, namespacesOf(this.#plan), pids);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.destroy();
  }

  async #reshape(host: string, change: { rate?: string; loss?: string; delay?: string }): Promise<void> {
    const planned = this.#host(host);
    const before = planned.link;
    planned.link = { ...before, ...change };
    try {
      await shapeHost(this.#plan, planned);
    } catch (error) {
      planned.link = before;
      throw error;
    }
    writeState(this.#plan);
  }

  async #slowOneWay(from: PlannedHost, to: PlannedHost, rate: string | undefined): Promise<void> {
    if (from === to) throw invalidOption(`${from.name} is one host; a path has two`);
    if (from.link.rate === undefined) {
      throw invalidOption(
        `the link of ${from.name} does not have a rate, so its paths cannot have one: give the lab a rate`,
      );
    }
    try {
      await batch('tc', from.namespace, pathLines(from, to, rate ?? PATH_FREE_RATE));
    } catch (error) {
      throw await explain(error, ['htb']);
    }
    from.paths[to.name] = rate ?? null;
  }

  #switch(line: string): Promise<void> {
    return batch('ip', this.#plan.switchNamespace, [line]);
  }

  #host(name: string): PlannedHost {
    if (this.#destroyed) {
      throw new NetlabError('ERR_RDMC_NETLAB_CLOSED', `lab ${this.name} has been destroyed`);
    }
    const found = this.#plan.hosts.find((host) => host.name === name);
    if (found) return found;
    const known = this.hosts.map((host) => host.name).join(', ');
    throw new NetlabError('ERR_RDMC_NETLAB_NO_HOST', `lab ${this.name} has no host ${name}; it has ${known}`);
  }

  #rack(rack: number): Plan['racks'][number] {
    const found = this.#plan.racks[rack];
    if (found) return found;
    throw new NetlabError(
      'ERR_RDMC_NETLAB_NO_HOST',
      `lab ${this.name} has no rack ${rack}; it has ${this.#plan.racks.length || 'none'}, counted from 0`,
    );
  }
}
