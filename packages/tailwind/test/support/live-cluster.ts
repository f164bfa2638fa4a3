import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { reserveLoopbackPorts } from '@rdmc/mesh/loopback';
import { Node, type NodeWith } from '@rdmc/node';
import { tailwind } from '@rdmc/tailwind';
import { Backup } from '@rdmc/tailwind/backup';
import { freed, temporaryDirectory, underTest, WatchedProcess } from '@rdmc/testing';
import { endOf, SEGMENT } from './cluster.js';

const program = fileURLToPath(new URL('../fixtures/coordinator.mjs', import.meta.url));

type LogsNode = NodeWith<{ readonly logs: ReturnType<typeof tailwind> }>;

/** A process of the coordinator. */
class CoordinatorProcess extends WatchedProcess<{ readonly ready?: number }, 'ready'> {
  constructor(setup: object) {
    super(fork(program, [JSON.stringify(setup)], { silent: true }), 'ready', { name: 'the coordinator' });
    underTest(this);
  }

  /** Resolves with its term. */
  started(): Promise<number> {
    return this.until(() => this.events.find(({ ready }) => ready !== undefined)?.ready);
  }
}

/** Member 0 is a coordinator in its own process; the others are nodes of this process. */
export class LiveCluster {
  #coordinator: CoordinatorProcess | undefined;
  readonly #setup: object;
  term = 0;

  private constructor(
    readonly contact: string,
    listen: object,
  ) {
    this.#setup = { listen, directory: temporaryDirectory(), leaseMs: 200 };
  }

  static async start(): Promise<LiveCluster> {
    const [place] = await freed(await reserveLoopbackPorts(1));
    const { host, port } = place!;
    const cluster = new LiveCluster(`${host}:${port}`, { host, port });
    await cluster.startCoordinator();
    return cluster;
  }

  async startCoordinator(): Promise<void> {
    this.#coordinator = new CoordinatorProcess(this.#setup);
    this.term = await this.#coordinator.started();
  }

  async killCoordinator(): Promise<void> {
    this.#coordinator!.signal('SIGKILL');
    await this.#coordinator!.exited;
  }

  /** A node with a backup that asks the coordinator about logs. */
  async enter(id: number, directory = temporaryDirectory()): Promise<LiveMember> {
    const node: LogsNode = await Node.join({
      id,
      join: [this.contact],
      listen: { host: '127.0.0.1', port: 0 },
      directory,
      device: 'soft',
      windowMs: 0,
      silenceTimeoutMs: 0,
      timeoutMs: 120_000,
      protocols: { logs: tailwind() },
    });
    const { logs, protectionDomain } = node;
    const coordinator = logs.coordinator(0);
    const clusterId = await coordinator.clusterId();
    const backup = await Backup.open({
      protectionDomain,
      directory,
      clusterId,
      segmentBytes: SEGMENT,
      buffers: 16,
    });
    const service = logs.serve(backup, { coordinator });
    const kill = endOf(node, backup, service);
    return { id, node, backup, coordinator, directory, kill };
  }
}

export interface LiveMember {
  readonly id: number;
  readonly node: LogsNode;
  readonly backup: Backup;
  readonly coordinator: ReturnType<LogsNode['logs']['coordinator']>;
  readonly directory: string;
  /** Ends the member as if its process had died. */
  kill(): Promise<void>;
}
