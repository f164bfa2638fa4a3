import { Tracer } from '@rdmc/common';
import { readShape } from '@rdmc/common/shapes';
import type { MemberEvent } from '@rdmc/mesh';
import type { Backup } from '@rdmc/tailwind/backup';
import { Imports } from '../cluster/imports.js';
import { isServer, leaveOf, memberName, Topic, tableMessage } from '../cluster/messages.js';
import { PEER_PURPOSE } from '../cluster/peer-frames.js';
import { servePeer } from '../cluster/peer-service.js';
import { TakeoverService } from '../cluster/takeover-service.js';
import { serveWitness } from '../cluster/witness.js';
import { KvError } from '../errors.js';
import { DrainedServers } from '../handover/drained-servers.js';
import { HandOverService } from '../handover/handover-service.js';
import { Incoming } from '../handover/incoming.js';
import { retireInTurn } from '../handover/retire-in-turn.js';
import { DEFAULT_REPLICAS, DEFAULT_SEGMENT_BYTES } from '../limits.js';
import { Keyspace } from '../store/keyspace.js';
import { Store } from '../store/store.js';
import { ClusterLevel } from '../upgrade/cluster-level.js';
import { CloseStack } from './close-stack.js';
import type { ServerEvents, ServerOptions } from './cluster-options.js';
import { type CommandService, serveCommands } from './command-service.js';
import type { LogsNode } from './join-cluster.js';
import { keepMembers } from './kept-members.js';
import { becomeMember, type Membership } from './membership.js';
import { openBackup } from './open-backup.js';
import { openLog } from './open-log.js';
import { PeerRequests } from './peer-requests.js';
import { requireKeyForPassword, requireProtection } from './protection.js';
import { Registration } from './registration.js';
import { type ServerStatistics, statisticsOf } from './server-statistics.js';

const startTrace = new Tracer<{ readonly id: number; readonly replicas: number }>('@rdmc/kv:start');

/** One server of a cluster: primary of a part of the keys, backup of the others' logs, and a port for clients. */
export class KvServer {
  private constructor(
    private readonly membership: Membership,
    private readonly serving: Serving,
    private readonly end: AbortController,
    private readonly closers: CloseStack,
  ) {}

  /**
   * Resolves when this server has its log and is registered; the coordinator then says which slots it serves.
   * @throws KvError ERR_RDMC_KV_UNPROTECTED, ERR_RDMC_KV_JOIN_TIMEOUT, ERR_RDMC_KV_LISTEN_FAILED, ERR_RDMC_KV_INVALID_TLS, ERR_RDMC_KV_LEVEL, ERR_RDMC_KV_SEGMENT_SIZE, ERR_RDMC_KV_REPLICAS; NodeError, MeshError, TailwindError, VerbsError
   */
  static async start(options: ServerOptions, events: ServerEvents = {}): Promise<KvServer> {
    requireProtection(options);
    requireKeyForPassword(options.password, options.key);
    return startTrace.promise(
      () => ({ id: options.id, replicas: options.replicas ?? DEFAULT_REPLICAS }),
      () => KvServer.#start(options, events),
    );
  }

  static async #start(options: ServerOptions, events: ServerEvents): Promise<KvServer> {
    const closers = new CloseStack();
    const end = new AbortController();
    try {
      const membership = await becomeMember(options, closers);
      const serving = await startServing(membership, options, events, end, closers);
      return new KvServer(membership, serving, end, closers);
    } catch (error) {
      endOnce(end, closedError());
      await closers.close();
      throw error;
    }
  }

  /** The backups of other servers' logs; undefined without replication. */
  get backup(): Backup | undefined {
    return this.serving.backup;
  }

  /** What this server has done, and holds, at this moment. */
  statistics(): ServerStatistics {
    return statisticsOf(this.serving.service.executor, this.membership.clientPort, this.serving.backup);
  }

  /** The port for clients, also if any port was asked for. */
  get port(): number {
    return this.membership.clientPort.port;
  }

  /** Aborted, with the reason, when this server can serve no more: it was declared dead, or its id belongs to another process. */
  get signal(): AbortSignal {
    return this.end.signal;
  }

  /** The device that logs are replicated over, and why it is that one. */
  get device(): LogsNode['device']['choice'] {
    return this.membership.node.device.choice;
  }

  /** Ends at once: clients are disconnected, and data that backups have only in memory is dropped. See `backup.dump`. */
  async close(): Promise<void> {
    endOnce(this.end, closedError());
    await this.closers.close();
  }
}

/** The parts of a server that serves. */
interface Serving {
  readonly backup: Backup | undefined;
  readonly service: CommandService;
}

async function startServing(
  membership: Membership,
  options: ServerOptions,
  events: ServerEvents,
  end: AbortController,
  closers: CloseStack,
): Promise<Serving> {
  const { node, coordinator } = membership;
  const { mesh, logs } = node;
  const backup = await openBackupOfLevel(membership, options, end, closers);
  if (backup) events.backupOpened?.(backup);
  // Before it has slots, and where it was admitted with its files.
  if (options.clusterId !== undefined) await keepMembers(options.directory, membership.members());
  const keyspace = new Keyspace();
  const servers = (): number[] => membership.servers();
  const { id: self, replicas = DEFAULT_REPLICAS } = options;
  const others = (): number[] => servers().filter((id) => id !== self);
  const isHere = (id: number): boolean => mesh.peers.get(id)?.state === 'connected';
  const drained = new DrainedServers({ others: () => others().filter(isHere), replicas });
  const backups = (): readonly number[] => drained.backupsOf(others());
  const { logId, log, lease, retire, close } = await openLog(options, logs, coordinator, backups, keyspace);
  closers.add(close);
  retireInTurn({ self, drained, servers, retire, ended: end.signal });
  const store = new Store(keyspace, log);
  const service = serveCommands({ membership, store, lease, logId, backup, options, events, closers });
  const { executor, peers } = service;
  log.ended.addEventListener('abort', () => {
    executor.logEnded();
    endOnce(end, log.ended.reason);
  });
  const imports = new Imports(store);
  const incoming = new Incoming(store);
  const requests = new PeerRequests(service, incoming);
  const connections = mesh.onConnection(PEER_PURPOSE, (connection) => servePeer(connection, requests));
  closers.add(() => connections.close());
  node.signal.addEventListener('abort', () => endOnce(end, node.signal.reason));
  watchMembers(membership, service, drained, events, closers);
  await Promise.all(others().map((id) => peers.reach(id)));
  const ended = end.signal;
  const takeovers = { mesh, logs, coordinator, imports, incoming, servers, ended };
  const takeoverService = new TakeoverService(takeovers);
  closers.add(() => takeoverService.close());
  const { table } = service;
  const handOvers = new HandOverService({ mesh, coordinator, peers, store, table, logId, incoming, ended });
  closers.add(() => handOvers.close());
  const witness = serveWitness(mesh, coordinator);
  closers.add(() => witness.close());
  const onRefused = (error: unknown): void => endOnce(end, error);
  const registration = new Registration({ coordinator, logId, replicas, ended, onRefused });
  closers.add(() => registration.close());
  await registration.registered();
  return { backup, service };
}

/** Of this server's log; 0: it has none. */
function segmentBytesOf({ replicas, segmentBytes = DEFAULT_SEGMENT_BYTES }: ServerOptions): number {
  return replicas === 0 ? 0 : segmentBytes;
}

/** Opens the backup of other servers' logs; its files have the formats of the cluster's level. */
async function openBackupOfLevel(
  { node, coordinator }: Membership,
  options: ServerOptions,
  end: AbortController,
  closers: CloseStack,
): Promise<Backup | undefined> {
  let backup: Backup | undefined;
  const level = await ClusterLevel.enlist({
    coordinator,
    name: memberName(options.id),
    segmentBytes: segmentBytesOf(options),
    replicas: options.replicas ?? DEFAULT_REPLICAS,
    onRaised: (raised) => {
      if (backup) backup.level = raised;
    },
    onRefused: (error) => endOnce(end, error),
  });
  closers.add(() => level.close());
  backup = await openBackup(options, node, coordinator, level.value, closers);
  // It may have been raised meanwhile.
  if (backup) backup.level = level.value;
  return backup;
}

/** Follows the coordinator's slot table, and the other servers. Without the coordinator this server serves what it has. */
function watchMembers(
  { node: { mesh }, coordinator }: Membership,
  { table, peers }: CommandService,
  drained: DrainedServers,
  events: ServerEvents,
  closers: CloseStack,
): void {
  const follow = (event: MemberEvent): void => {
    const { type, member } = event;
    if (type === 'lost') {
      // This server has to stop, so it has lost all of them: the reason is that of `signal`, and not of each member.
      if (!isOwnEnd(event.code)) events.memberLost?.({ type, member, reason: event.reason });
    } else if (type === 'left') events.memberLost?.(leaveOf(member));
    if (!isServer(member)) return;
    if (type === 'joined') {
      void peers.reach(member);
      table.restore(member);
    } else table.drop(member);
    drained.look();
  };
  const subscriptions = [
    mesh.onMember(follow),
    coordinator.onMessage(Topic.TABLE, (_, body) => {
      const { epoch, ranges, drained: members } = readShape(tableMessage, body);
      // A table that was overtaken, of this run of the coordinator or of an earlier one.
      if (epoch <= table.epoch) return;
      drained.update(members, new Set(ranges.map(([, , server]) => server)));
      table.update(
        epoch,
        ranges.map(([first, last, member]) => ({ from: first, to: last, member })),
      );
    }),
  ];
  closers.add(() => {
    for (const each of subscriptions) each.close();
  });
}

/** Whether this process is not a member any more. */
function isOwnEnd(code: string): boolean {
  return code === 'ERR_RDMC_MESH_EVICTED' || code === 'ERR_RDMC_REPLACED';
}

function endOnce(end: AbortController, reason: unknown): void {
  if (!end.signal.aborted) end.abort(reason);
}

function closedError(): KvError {
  return new KvError('ERR_RDMC_KV_CLOSED', 'this server was closed');
}
