import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { reserveLoopbackPorts } from '@rdmc/mesh';
import { Backup } from '@rdmc/tailwind';
import { membersAt, temporaryDirectory } from '@rdmc/testing';
import { onTestFinished } from 'vitest';
import { CLUSTER } from './backups.js';
import { type ClusterMember, joinLogs, SEGMENT } from './cluster.js';

const program = fileURLToPath(new URL('../fixtures/member.mjs', import.meta.url));

/** A member in a process of its own. */
export class MemberProcess {
  readonly #child: ChildProcess;
  readonly #watchers = new Set<() => void>();
  logId: bigint | undefined;
  acknowledged = 0;
  backups: number[] = [];
  ended: string | undefined;
  leaseValid: boolean | undefined;
  ready = false;
  gone = false;

  constructor(
    readonly id: number,
    setup: object,
  ) {
    this.#child = fork(program, [JSON.stringify(setup)]);
    this.#child.on('message', (message) => this.#take(message as Record<string, unknown>));
    this.#child.on('exit', () => {
      this.gone = true;
      this.#changed();
    });
    onTestFinished(async () => {
      if (this.gone) return;
      const exited = once(this.#child, 'exit');
      this.#child.kill('SIGKILL');
      await exited;
    });
  }

  /** Resolves when the condition holds; looked at whenever the process said something or ended. */
  until(condition: (member: this) => boolean): Promise<void> {
    return new Promise((resolve) => {
      const look = (): void => {
        if (!condition(this)) return;
        this.#watchers.delete(look);
        resolve();
      };
      this.#watchers.add(look);
      look();
    });
  }

  append(replicas: number): void {
    this.#child.send({ append: replicas });
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  #take({ logId, ...rest }: Record<string, unknown>): void {
    if (logId !== undefined) this.logId = BigInt(logId as string);
    Object.assign(this, rest);
    this.#changed();
  }

  #changed(): void {
    for (const look of [...this.#watchers]) look();
  }
}

export interface ProcessCluster {
  /** Member 1, in this process. */
  readonly own: ClusterMember;
  /** All others. */
  readonly processes: ReadonlyMap<number, MemberProcess>;
}

/** Members 0 to n − 1: number 1 in this process, to be coordinator and to recover, each other one in its own. */
export async function startProcesses(n: number): Promise<ProcessCluster> {
  const reserved = await reserveLoopbackPorts(n);
  const members = membersAt(reserved);
  const processes = new Map<number, MemberProcess>();
  for (const [id, { server }] of reserved.entries()) {
    if (id === 1) continue;
    server.close();
    await once(server, 'close');
    const directory = temporaryDirectory();
    const setup = { id, members, coordinator: 1, directory, clusterId: CLUSTER, segmentBytes: SEGMENT };
    processes.set(id, new MemberProcess(id, setup));
  }
  const node = await joinLogs({ id: 1, members, server: reserved[1]!.server, timeoutMs: 120_000 });
  const directory = temporaryDirectory();
  const options = { protectionDomain: node.protectionDomain, clusterId: CLUSTER, segmentBytes: SEGMENT };
  const backup = await Backup.open({ ...options, directory, buffers: 16 });
  const service = node.logs.serve(backup);
  const kill = async (): Promise<void> => {
    await service.close();
    await backup.close();
    await node.close();
  };
  onTestFinished(kill);
  const { mesh, logs } = node;
  await Promise.all([...processes.values()].map((member) => member.until(({ ready }) => ready)));
  return { own: { id: 1, node, mesh, logs, backup, service, directory, kill }, processes };
}
