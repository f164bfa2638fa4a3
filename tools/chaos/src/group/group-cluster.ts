import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { reserveLoopbackPorts } from '@rdmc/mesh/loopback';
import { createLab, type Netlab } from '@rdmc/netlab';
import { freed } from '@rdmc/testing/members';
import { GroupLinks } from './group-links.js';
import { GroupMemberProcess } from './group-member-process.js';
import type { GroupSetup } from './group-messages.js';
import type { GroupPlan } from './group-plan.js';
import { needsLab } from './group-scenarios.js';

const LAB_PORT = 7420;

/** Where the built program of a member is, from the sources and from dist. */
const program = ['./group-member.js', '../../dist/group-member.js']
  .map((path) => fileURLToPath(new URL(path, import.meta.url)))
  .find(existsSync)!;

/** The processes of the members of one group. */
export class GroupCluster {
  readonly directory = mkdtempSync(join(tmpdir(), 'rdmc-chaos-group-'));
  /** By id. */
  members: readonly GroupMemberProcess[] = [];
  /** Rejects if the lab cannot be created. */
  #creation: Promise<Netlab> | undefined;
  #lab: Netlab | undefined;
  #links: GroupLinks | undefined;
  #isRemoved = false;

  constructor(private readonly plan: GroupPlan) {}

  get links(): GroupLinks {
    return this.#links!;
  }

  get living(): readonly GroupMemberProcess[] {
    return this.members.filter(({ gone }) => !gone);
  }

  some(ids: readonly number[]): readonly GroupMemberProcess[] {
    return ids.map((id) => this.members[id]!);
  }

  /** Resolves when the group is open at all members. */
  async start(): Promise<void> {
    const count = this.plan.shape.group.members.length;
    if (needsLab(this.plan.scenario)) {
      this.#creation = createLab({ hosts: count });
      this.#lab = await this.#creation;
      this.#links = await GroupLinks.create(this.#lab);
    }
    const places = await this.#places(count);
    if (this.#isRemoved) throw new Error('the cluster was removed before it was started');
    const members = places.map((place, id) => ({ id, ...place }));
    this.members = members.map(({ id }) => {
      const setup = this.#setupOf(id, members);
      return new GroupMemberProcess(id, this.#spawn(id, [program, JSON.stringify(setup)]));
    });
    // A member with a torn WRITE may die before it says so.
    const torn = this.plan.fault.torn?.member;
    await Promise.all(
      this.members.map((member) =>
        member.event('open').catch((error) => this.#mayBeGone(member, torn, error)),
      ),
    );
  }

  async remove(): Promise<void> {
    this.#isRemoved = true;
    await Promise.all(this.members.map((member) => member.kill('SIGKILL')));
    // A run that is interrupted may still be creating it.
    const lab = await this.#creation?.catch(() => undefined);
    await lab?.destroy();
    rmSync(this.directory, { recursive: true, force: true });
  }

  #mayBeGone({ id }: GroupMemberProcess, torn: number | undefined, error: unknown): void {
    if (id !== torn) throw error;
  }

  #setupOf(id: number, members: GroupSetup['members']): GroupSetup {
    const { seed, shape, habits, slow, fault, again } = this.plan;
    const { transport, silenceTimeoutMs, group } = shape;
    return {
      ...{ id, members, seed, transport, silenceTimeoutMs, group, again, ...habits },
      isOpenNetwork: this.#lab !== undefined,
      deviceHost: this.#links?.address(id, 'data') ?? members[id]!.host,
      directory: this.directory,
      slowMs: slow?.member === id ? slow.ms : 0,
      trap: fault.trapped.find(({ member }) => member === id)?.trap,
      tornAfterBytes: fault.torn?.member === id ? fault.torn.afterBytes : undefined,
    };
  }

  async #places(count: number): Promise<{ host: string; port: number }[]> {
    if (this.#lab) return this.#lab.hosts.slice(0, count).map(({ ipv4 }) => ({ host: ipv4, port: LAB_PORT }));
    const members = await freed(await reserveLoopbackPorts(count));
    return members.map(({ host, port }) => ({ host, port }));
  }

  #spawn(id: number, args: string[]): ChildProcess {
    const options = { stdio: ['ignore', 'pipe', 'pipe', 'ipc'] as ['ignore', 'pipe', 'pipe', 'ipc'] };
    if (this.#lab) return this.#lab.exec(`h${id}`, process.execPath, args, options);
    return spawn(process.execPath, args, options);
  }
}
