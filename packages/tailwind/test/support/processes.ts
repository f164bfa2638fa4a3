import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { reserveLoopbackPorts } from '@rdmc/mesh/loopback';
import { Backup } from '@rdmc/tailwind/backup';
import { membersAt, temporaryDirectory, underTest, WatchedProcess } from '@rdmc/testing';
import { onTestFinished } from 'vitest';
import { CLUSTER } from './backups.js';
import { type ClusterMember, joinLogs, SEGMENT } from './cluster.js';

const program = fileURLToPath(new URL('../fixtures/member.mjs', import.meta.url));

interface Said {
  readonly logId?: string;
  readonly acknowledged?: number;
  readonly backups?: readonly number[];
  readonly ended?: string;
  readonly leaseValid?: boolean;
  readonly ready?: boolean;
}

/** A member in its own process, and its last report of each kind. */
export class MemberProcess extends WatchedProcess<Said, 'ready'> {
  constructor(
    readonly id: number,
    setup: object,
  ) {
    super(fork(program, [JSON.stringify(setup)], { silent: true }), 'ready', { name: `member ${id}` });
    underTest(this);
  }

  get logId(): bigint | undefined {
    const logId = this.#last('logId');
    return logId === undefined ? undefined : BigInt(logId);
  }

  get acknowledged(): number {
    return this.#last('acknowledged') ?? 0;
  }

  get backups(): readonly number[] {
    return this.#last('backups') ?? [];
  }

  get ended(): string | undefined {
    return this.#last('ended');
  }

  get leaseValid(): boolean | undefined {
    return this.#last('leaseValid');
  }

  get ready(): boolean {
    return this.#last('ready') ?? false;
  }

  append(replicas: number): void {
    this.tell({ append: replicas });
  }

  #last<Field extends keyof Said>(field: Field): Said[Field] | undefined {
    return this.events.findLast((said) => said[field] !== undefined)?.[field];
  }
}

export interface ProcessCluster {
  /** Member 1, in this process. */
  readonly own: ClusterMember;
  /** All others. */
  readonly processes: ReadonlyMap<number, MemberProcess>;
}

/** Members 0 to n − 1: number 1 in this process, as coordinator and for recovery, each other one in its own. */
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
