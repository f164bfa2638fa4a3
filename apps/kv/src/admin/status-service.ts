import { ownLevels, type Subscription } from '@rdmc/common';
import { readShape } from '@rdmc/common/shapes';
import type { Mesh } from '@rdmc/mesh';
import type { Backup, FlushFailure } from '@rdmc/tailwind/backup';
import type { CoordinatorClient } from '@rdmc/tailwind/coordinator';
import { COORDINATOR, isServer, standbyNumber, Topic } from '../cluster/messages.js';
import { NOBODY, type SlotTable } from '../cluster/slot-table.js';
import type { NodeAddress } from '../commands/node-view.js';
import { STATUS_TIMEOUT_MS } from '../limits.js';
import type { Executor, ReadLease } from '../server/executor.js';
import { version } from '../version.js';
import {
  type ClusterStatus,
  type CoordinatorFacts,
  coordinatorFacts,
  problemsOf,
  type ServerFacts,
  type ServerStatus,
  serverFacts,
} from './status.js';

type BackupView = Pick<Backup, 'logIds' | 'buffers' | 'disk' | 'flushFailure'>;

export interface StatusServiceOptions {
  readonly mesh: Pick<Mesh, 'id' | 'signal' | 'incarnation' | 'peers' | 'request' | 'onRequest'>;
  readonly coordinator: Pick<CoordinatorClient, 'lead' | 'request'>;
  readonly executor: Executor;
  readonly table: SlotTable;
  readonly lease: ReadLease;
  readonly logId: bigint;
  readonly backup: BackupView | undefined;
  /** Ids of all servers. */
  readonly servers: () => readonly number[];
  /** The addresses for clients of the servers that are known. */
  readonly nodes: () => NodeAddress[];
}

/** Says what this server is and has, and asks all members for the same. It changes nothing. */
export class StatusService {
  readonly #subscription: Subscription;

  constructor(private readonly options: StatusServiceOptions) {
    this.#subscription = options.mesh.onRequest(Topic.STATUS, () => this.#own());
  }

  close(): void {
    this.#subscription.close();
  }

  /** This server as a member. */
  get self(): Pick<Mesh, 'id' | 'signal'> {
    return this.options.mesh;
  }

  /** The whole cluster, as this server sees it. A member that does not answer in time is a part of the answer. */
  async status(): Promise<ClusterStatus> {
    const { mesh, coordinator, table, nodes, servers: idsOf } = this.options;
    const ids = idsOf();
    const known = new Map(nodes().map((node) => [node.member, node]));
    const [asked, servers] = await Promise.all([
      this.#coordinator(),
      Promise.all(ids.map((id) => this.#server(id, known.get(id)))),
    ]);
    const leading = coordinator.lead?.member;
    const state = this.#stateOf(leading ?? COORDINATOR, asked);
    const removed = new Set(asked?.removed);
    const found = {
      askedServer: mesh.id,
      epoch: table.epoch,
      coordinator: {
        state,
        standby: leading === undefined ? null : standbyNumber(leading),
        facts: asked ?? null,
      },
      standbys: this.#standbys(leading),
      servers: servers.filter(({ server, state: its }) => its !== 'absent' || !removed.has(server)),
      unserved: rangesOf(table, NOBODY),
    };
    const problems = problemsOf(found);
    return { ...found, isHealthy: problems.length === 0, problems };
  }

  async #server(member: number, node: NodeAddress | undefined): Promise<ServerStatus> {
    const { mesh, table } = this.options;
    const isSelf = member === mesh.id;
    const facts = isSelf
      ? this.#own()
      : await this.#ask(member, (answer): ServerFacts => readShape(serverFacts, answer));
    return {
      server: member,
      state: isSelf ? 'connected' : this.#stateOf(member, facts),
      incarnation: isSelf ? mesh.incarnation : (mesh.peers.get(member)?.incarnation ?? 0),
      address: node ? { host: node.host, port: node.port } : null,
      slots: rangesOf(table, member),
      facts: facts ?? null,
    };
  }

  /** Undefined: no answer, or one that is not valid. */
  async #coordinator(): Promise<CoordinatorFacts | undefined> {
    const { mesh, coordinator } = this.options;
    const { member } = coordinator.lead ?? {};
    if (member === undefined || (member !== mesh.id && mesh.peers.get(member)?.state !== 'connected'))
      return undefined;
    try {
      const answer = await coordinator.request(Topic.STATUS, {}, { timeoutMs: STATUS_TIMEOUT_MS });
      return readShape(coordinatorFacts, answer);
    } catch {
      return undefined;
    }
  }

  /** Undefined: no answer, or one that is not valid. */
  async #ask<T>(member: number, read: (answer: unknown) => T): Promise<T | undefined> {
    const { mesh } = this.options;
    if (mesh.peers.get(member)?.state !== 'connected') return undefined;
    try {
      return read(await mesh.request(member, Topic.STATUS, {}, { timeoutMs: STATUS_TIMEOUT_MS }));
    } catch {
      return undefined;
    }
  }

  /** Coordinators that do not lead. */
  #standbys(leading: number | undefined): ClusterStatus['standbys'] {
    const others = [...this.options.mesh.peers.values()].filter(({ id }) => !isServer(id) && id !== leading);
    return others.map(({ id }) => ({ standby: standbyNumber(id), state: this.#stateOf(id, true) }));
  }

  #stateOf(member: number, facts: unknown): ServerStatus['state'] {
    const { state = 'left' } = this.options.mesh.peers.get(member) ?? {};
    if (state === 'left') return 'absent';
    return state === 'connected' && facts === undefined ? 'silent' : state;
  }

  #own(): ServerFacts {
    const { executor, table, lease, logId, backup, mesh } = this.options;
    const { store, node } = executor;
    const { bytes, liveBytes } = store.usage;
    let keys = 0;
    for (const [from, to] of rangesOf(table, mesh.id)) {
      for (let slot = from; slot <= to; slot += 1) keys += store.keyspace.sizeOf(slot);
    }
    return {
      version,
      levels: ownLevels(),
      log: String(logId),
      processId: process.pid,
      keys,
      bytes: liveBytes,
      logBytes: bytes,
      replicas: store.replicas,
      lease: lease.valid,
      epoch: table.epoch,
      clients: node.clients,
      waitingAppends: store.lag.appends,
      backup: backup ? backupFacts(backup) : null,
    };
  }
}

function backupFacts({ logIds, buffers, disk, flushFailure }: BackupView): ServerFacts['backup'] {
  const speed = disk && { ...disk, flushedBytesPerSecond: disk.flushedBytesPerSecond ?? null };
  return {
    logs: logIds.map(String),
    buffersUsed: buffers.used,
    buffers: buffers.limit,
    disk: speed ?? null,
    flushFailure: flushFailure ? inSeconds(flushFailure) : null,
  };
}

function inSeconds({ milliseconds, ...failure }: FlushFailure) {
  return { ...failure, seconds: milliseconds / 1000 };
}

function rangesOf({ ranges }: SlotTable, member: number): [number, number][] {
  return ranges.filter((range) => range.member === member).map(({ from, to }) => [from, to]);
}
