import { type ChildProcess, fork } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { reserveLoopbackPorts } from '@rdmc/mesh/loopback';
import type { MemberLoss } from '../cluster/messages.js';
import { KvError } from '../errors.js';
import { EtcdProcess } from './etcd-process.js';
import { interruptible } from './interruption.js';

const LEAD_SECONDS = 6;

/** An event of a process for its parent. */
export interface MemberEvent {
  readonly ready?: number;
  readonly metrics?: string;
  readonly serving?: number;
  /** The term of a coordinator that leads now. */
  readonly leading?: number;
  /** A coordinator waits for the lead; the text is why it lost it. */
  readonly waiting?: string;
  readonly ended?: string;
  readonly recovered?: { readonly logId: string; readonly entries: number; readonly milliseconds: number };
  readonly failed?: { readonly code: string; readonly reason: string };
  readonly moved?: { readonly source: number; readonly target: number; readonly slots: number };
  readonly balanced?: boolean;
  readonly memberLost?: MemberLoss;
}

/** The processes that this one has started, and that have not ended. */
const running = new Set<MemberProcess>();

/** A process of a cluster on this machine. */
export class MemberProcess {
  readonly #child: ChildProcess;
  readonly #events: MemberEvent[] = [];
  #changed: () => void = () => {};
  /** Its exit code or signal. */
  exit: string | undefined;

  constructor(
    readonly name: string,
    args: readonly string[],
    command = process.argv[1]!,
  ) {
    // A password of a cluster elsewhere: with it these members would need a key.
    const { RDMC_KV_PASSWORD: _, ...env } = process.env;
    this.#child = fork(command, args, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'], env });
    running.add(this);
    this.#child.on('message', (event) => {
      this.#events.push(event as MemberEvent);
      this.#changed();
    });
    this.#child.once('exit', (code, signal) => {
      running.delete(this);
      this.exit = signal ? `signal ${signal}` : `code ${String(code)}`;
      this.#changed();
    });
  }

  get pid(): number {
    return this.#child.pid!;
  }

  /** The first event that satisfies, from the given one on. @throws KvError when the process ends before */
  async until<T>(pick: (event: MemberEvent) => T | undefined, from = 0): Promise<T> {
    for (let next = from; ; next += 1) {
      while (next >= this.#events.length) {
        if (this.exit !== undefined) {
          throw new KvError('ERR_RDMC_KV_PROCESS_DIED', `${this.name} ended with ${this.exit}`);
        }
        await new Promise<void>((resolve) => {
          this.#changed = resolve;
        });
      }
      const found = pick(this.#events[next]!);
      if (found !== undefined) return found;
    }
  }

  /** Events so far, from the given one on. */
  eventsFrom(from: number): readonly MemberEvent[] {
    return this.#events.slice(from);
  }

  /** Events so far, for `until`. */
  get eventCount(): number {
    return this.#events.length;
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** @returns when it has ended */
  async kill(signal: NodeJS.Signals): Promise<void> {
    if (this.exit !== undefined) return;
    this.#child.kill(signal);
    await this.ended();
  }

  /** Resolves when it has ended. */
  async ended(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#child.once('exit', () => resolve());
      if (this.exit !== undefined) resolve();
    });
  }
}

export interface LocalClusterOptions {
  readonly servers: number;
  readonly directory: string;
  /** More arguments of `kv server`. */
  readonly serverArguments?: readonly string[];
  /** The program of the processes (default: this one). */
  readonly command?: string;
  /** With the coordinators' state in etcd: its endpoint, and the number of standby coordinators. */
  readonly shared?: SharedState | undefined;
  /** Aborted: processes are not started any more. */
  readonly ended?: AbortSignal;
}

export interface SharedState {
  readonly etcd: string;
  readonly standbys: number;
  readonly leadSeconds: number;
}

/** A coordinator, standbys and servers, each a process, on loopback. */
export class LocalCluster {
  private constructor(
    readonly coordinator: MemberProcess,
    readonly servers: readonly MemberProcess[],
    readonly standbys: readonly MemberProcess[],
    /** Where clients connect, by server. */
    readonly ports: readonly number[],
    private readonly commandLines: ReadonlyMap<string, readonly string[]>,
  ) {}

  /** The arguments with which a member was started, by its name: for another process with its place and files. */
  argumentsOf(name: string): readonly string[] {
    return this.commandLines.get(name)!;
  }

  /** Resolves when all slots are served. @throws KvError when a process ends */
  static async start({
    servers: count,
    directory,
    serverArguments = [],
    command,
    shared,
    ended,
  }: LocalClusterOptions): Promise<LocalCluster> {
    const reserved = await reserveLoopbackPorts(count + 1 + (shared?.standbys ?? 0));
    for (const { server } of reserved) server.close();
    ended?.throwIfAborted();
    const addresses = reserved.map(({ host, port }) => `${host}:${port}`);
    const members = addresses.slice(0, count + 1).join(',');
    const common = ['--members', members, '--directory', join(directory, 'cluster')];
    const commandLines = coordinatorLines(common, addresses.slice(count + 1), shared);
    for (let id = 1; id <= count; id += 1) {
      const own = ['--id', String(id), '--port', '0', ...serverArguments];
      commandLines.set(`server ${id}`, ['server', ...common, ...own]);
    }
    const [coordinator, ...others] = [...commandLines].map(
      ([name, args]) => new MemberProcess(name, args, command),
    ) as [MemberProcess, ...MemberProcess[]];
    const standbys = others.filter(({ name }) => name.startsWith('standby'));
    const servers = others.filter((member) => !standbys.includes(member));
    try {
      const ports = await Promise.all(servers.map((server) => server.until(({ ready }) => ready)));
      await Promise.all(standbys.map((standby) => standby.until(({ ready }) => ready)));
      // On a busy machine a standby may have taken the lead by then.
      await Promise.any([coordinator, ...standbys].map((each) => each.until(({ serving }) => serving)));
      return new LocalCluster(coordinator, servers, standbys, ports, commandLines);
    } catch (error) {
      await Promise.all([coordinator, ...others].map((member) => member.kill('SIGKILL')));
      throw error;
    }
  }

  readonly #adopted: MemberProcess[] = [];

  /** Another process of a member: it is ended with the others. */
  adopt(member: MemberProcess): MemberProcess {
    this.#adopted.push(member);
    return member;
  }

  async stop(): Promise<void> {
    const all = [this.coordinator, ...this.standbys, ...this.servers, ...this.#adopted];
    await Promise.all(all.map((member) => member.kill('SIGKILL')));
  }
}

/** The arguments of the coordinators, by name. */
function coordinatorLines(
  common: readonly string[],
  addresses: readonly string[],
  shared: SharedState | undefined,
): Map<string, string[]> {
  if (shared === undefined) return new Map([['the coordinator', ['coordinator', ...common]]]);
  const { etcd, leadSeconds } = shared;
  const all = ['coordinator', ...common, '--etcd', etcd, '--lead-seconds', String(leadSeconds)];
  const standbys = addresses.map((address, index): [string, string[]] => [
    `standby ${index + 1}`,
    [...all, '--standby', String(index + 1), '--listen', address],
  ]);
  return new Map([['the coordinator', all], ...standbys]);
}

/**
 * Runs a cluster whose files are in a temporary directory. When `use` has ended, or a signal has come, all processes that this one
 * has started are ended, and the directory is removed.
 * @throws KvError when a process ends before all slots are served; Interrupted; what `use` throws
 */
export async function withLocalCluster<T>(
  options: Omit<LocalClusterOptions, 'directory' | 'shared' | 'ended'> & {
    /** With etcd, if this machine has it, and a standby coordinator. */
    readonly hasStandby?: boolean;
  },
  use: (cluster: LocalCluster) => Promise<T>,
): Promise<T> {
  const directory = mkdtempSync(join(tmpdir(), 'kv-cluster-'));
  let etcd: EtcdProcess | undefined;
  try {
    return await interruptible(async (ended) => {
      if (options.hasStandby) etcd = await EtcdProcess.begin(directory, ended);
      const isShared = etcd !== undefined && (await etcd.isServing());
      const shared = isShared ? { etcd: etcd!.endpoint, standbys: 1, leadSeconds: LEAD_SECONDS } : undefined;
      return use(await LocalCluster.start({ ...options, directory, shared, ended }));
    });
  } finally {
    await Promise.all([...running].map((member) => member.kill('SIGKILL')));
    await etcd?.stop();
    rmSync(directory, { recursive: true, force: true });
  }
}
