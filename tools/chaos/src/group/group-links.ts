import { once } from 'node:events';
import type { Netlab } from '@rdmc/netlab';
import type { Cut, Path } from './group-fault-plan.js';

/** Priority of a routing rule: right behind the table of local addresses. */
const FIRST_RULE = 1;

type Verb = 'add' | 'delete';

/**
 * The links between the hosts of a lab, of which host `h0` has member 0, and so on. Each host has an address for the mesh, and one for
 * the soft device. Packets are lost silently.
 */
export class GroupLinks {
  private constructor(private readonly lab: Netlab) {}

  static async create(lab: Netlab): Promise<GroupLinks> {
    const links = new GroupLinks(lab);
    await Promise.all(
      lab.hosts.map((_, member) =>
        links.#run(member, [`ip address add ${links.address(member, 'data')}/24 dev eth0`]),
      ),
    );
    return links;
  }

  address(member: number, path: Path): string {
    return path === 'mesh' ? this.lab.host(hostOf(member)).ipv4 : `10.78.0.${member + 1}`;
  }

  /** Cuts one host off by its link, and otherwise each path from one set to the other. */
  async cut(cut: Cut): Promise<void> {
    if (isOneHost(cut)) await this.lab.cut(hostOf(cut.from[0]!));
    else await this.#drop('add', cut);
  }

  async heal(cut: Cut): Promise<void> {
    if (isOneHost(cut)) await this.lab.heal(hostOf(cut.from[0]!));
    else await this.#drop('delete', cut);
  }

  async #drop(verb: Verb, { from, to, isOneWay, paths }: Cut): Promise<void> {
    const there = from.map((member) => this.#run(member, this.#rules(verb, to, paths)));
    const back = isOneWay ? [] : to.map((member) => this.#run(member, this.#rules(verb, from, paths)));
    await Promise.all([...there, ...back]);
  }

  /** Begin to drop what a host sends to those, or end it. */
  #rules(verb: Verb, to: readonly number[], paths: readonly Path[]): string[] {
    return to.flatMap((other) =>
      paths.map((path) => `ip rule ${verb} pref ${FIRST_RULE} to ${this.address(other, path)} blackhole`),
    );
  }

  /** In the host of that member. */
  async #run(member: number, lines: readonly string[]): Promise<void> {
    const command = lines.join(' && ');
    const child = this.lab.exec(hostOf(member), 'sh', ['-c', command], {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    const [code] = await once(child, 'close');
    if (code !== 0) throw new Error(`${command} in ${hostOf(member)} ended with ${code}`);
  }
}

function isOneHost({ from, isOneWay, paths }: Cut): boolean {
  return from.length === 1 && !isOneWay && paths.length === 2;
}

function hostOf(member: number): string {
  return `h${member}`;
}
