import { readFileSync } from 'node:fs';
import { within } from '@rdmc/common';
import type { NodeOptions, OpenDeviceOptions } from '@rdmc/group';
import type { Member } from '@rdmc/mesh';
import { reserveLoopbackPorts } from '@rdmc/mesh/loopback';
import { membersAt } from '@rdmc/testing/members';
import { MemberProcess } from './member-process.js';
import { patient } from './patience.js';
import { namedSharedMemory } from './proc.mjs';

/** Time limit for a test that hangs. */
const JOIN_DEADLINE_MS = 120_000;
const EXIT_DEADLINE_MS = 60_000;
/** How long a neighbour's device may be silent: longer than a busy machine keeps a member from its processor. */
const RETRY_MS = 60_000;
/** In a child, the socket it inherits: 0 to 2 are the standard streams, 3 the channel to its parent. */
const INHERITED_FD = 4;

export interface ClusterOptions {
  readonly host?: '127.0.0.1' | '::1';
  /** Options of every member. */
  readonly node?: Partial<NodeOptions>;
  /** Options of single members, by id; they go before those of all. */
  readonly of?: Readonly<Record<number, Partial<NodeOptions>>>;
}

const open = new Set<Cluster>();

/** The soft device with one of its two transports. */
export function over(transport: 'shm' | 'tcp'): { readonly device: OpenDeviceOptions } {
  return { device: { device: 'soft', transport } };
}

/** For `afterEach`: ends processes that tests left, and fails if anything of theirs remains afterwards. */
export async function endClusters(): Promise<void> {
  const clusters = [...open];
  open.clear();
  await Promise.all(clusters.map((cluster) => cluster.end()));
}

/** Members 0 to n − 1, each in a process of its own. */
export class Cluster {
  private constructor(
    readonly members: readonly MemberProcess[],
    readonly list: readonly Member[],
    private readonly options: ClusterOptions,
  ) {}

  /** Starts the processes, without joining. */
  static async spawn(n: number, options: ClusterOptions = {}): Promise<Cluster> {
    const reserved = await reserveLoopbackPorts(n, options.host);
    const list = membersAt(reserved);
    const members = reserved.map(({ server }, id) => new MemberProcess(id, server));
    const cluster = new Cluster(members, list, options);
    open.add(cluster);
    await Promise.all(members.map((member) => member.event('ready')));
    return cluster;
  }

  /** Starts the processes and lets all of them join. */
  static async start(n: number, options: ClusterOptions = {}): Promise<Cluster> {
    const cluster = await Cluster.spawn(n, options);
    await cluster.all((member) => cluster.join(member));
    return cluster;
  }

  get ids(): number[] {
    return this.members.map(({ id }) => id);
  }

  async join(member: MemberProcess, options: object = {}): Promise<void> {
    const { node, of } = this.options;
    // Members that poll take the processors from the others.
    const base = { id: member.id, members: this.list, server: { fd: INHERITED_FD }, windowMs: 0 };
    const given = { ...base, ...node, ...of?.[member.id], ...options };
    const { sockets } = await member.call<{ sockets: string[] }>('join', given, JOIN_DEADLINE_MS);
    member.sockets = sockets;
  }

  at(id: number): MemberProcess {
    return this.members[id]!;
  }

  except(...gone: number[]): MemberProcess[] {
    return this.members.filter(({ id }) => !gone.includes(id));
  }

  all<T>(action: (member: MemberProcess) => Promise<T>, members = this.members): Promise<T[]> {
    return Promise.all(members.map(action));
  }

  /** Creates a group at all its members; the first of `ids` is its root. */
  async createGroup(id: number, ids: readonly number[], options: object = {}): Promise<void> {
    const group = { id, members: ids, retryTimeoutMs: RETRY_MS, ...options };
    await Promise.all(ids.map((member) => this.at(member).call('createGroup', group)));
  }

  /** The groups close, the nodes leave, and every process that was not killed exits with code 0. */
  async leave(): Promise<void> {
    const leaving = this.members.filter(({ alive, killed }) => alive && !killed);
    await Promise.all(leaving.map((member) => leave(member)));
  }

  /** Kills the rest of this cluster, and fails if anything of it remains. */
  async end(): Promise<void> {
    open.delete(this);
    // Files in /dev/shm would stay. Those of other programs are there too, so that only their users tell whose they are.
    const left = this.members.filter(({ alive }) => alive).flatMap(({ pid }) => namedSharedMemory(pid));
    for (const member of this.members) member.signal('SIGKILL');
    await this.all(({ exited }) => exited);
    const names = new Set(this.members.flatMap(({ sockets }) => sockets));
    const sockets = readFileSync('/proc/net/unix', 'utf8')
      .split('\n')
      .map((line) => line.split(/\s+/)[7])
      .filter((name): name is string => name !== undefined && names.has(name));
    left.push(...sockets);
    if (left.length > 0) throw new Error(`Left behind by processes that have ended: ${left.join(', ')}`);
  }
}

async function leave(member: MemberProcess): Promise<void> {
  // The member disconnects instead of answering.
  const left = member.call('leave', {}, EXIT_DEADLINE_MS).catch(() => {});
  const timeoutMs = patient(EXIT_DEADLINE_MS);
  const late = (): Error => new Error(`it left, and did not end within ${timeoutMs} ms: ${member.report()}`);
  const { code, signal } = await within(member.exited, { timeoutMs, late });
  await left;
  if (code !== 0)
    throw new Error(`Member ${member.id} ended with ${code ?? signal} after leaving: ${member.stderr}`);
}
