import type { Backup } from '@rdmc/tailwind/backup';
import { ClusterAdmin } from '../admin/admin-service.js';
import { StatusService } from '../admin/status-service.js';
import { PeerLinks } from '../cluster/peer-links.js';
import { Router } from '../cluster/router.js';
import { SlotTable } from '../cluster/slot-table.js';
import type { CommandTable } from '../commands/command-table.js';
import { createCommandTable } from '../commands/table.js';
import { DEFAULT_SLOT_WAIT_MS } from '../limits.js';
import { ClientSet } from '../server/client-set.js';
import { Executor, type ReadLease } from '../server/executor.js';
import { RespServer } from '../server/resp-server.js';
import { SnapshotService } from '../snapshot/snapshot-service.js';
import type { Store } from '../store/store.js';
import type { CloseStack } from './close-stack.js';
import type { ServerEvents, ServerOptions } from './cluster-options.js';
import { ExpirySweep } from './expiry-sweep.js';
import { HttpRefusals } from './http-refusals.js';
import type { Membership } from './membership.js';
import { View } from './view.js';

/** The parts that run commands: for clients at this server's port, and for other servers. */
export interface CommandService {
  readonly table: SlotTable;
  readonly commands: CommandTable;
  readonly executor: Executor;
  /** The connections on which this server asks others. */
  readonly peers: PeerLinks;
}

export interface CommandServiceOptions {
  readonly membership: Membership;
  readonly store: Store;
  readonly lease: ReadLease;
  readonly logId: bigint;
  readonly backup: Backup | undefined;
  readonly options: ServerOptions;
  readonly events: ServerEvents;
  readonly closers: CloseStack;
}

/** Serves clients from now on: commands wait as long as the slot table is empty. */
export function serveCommands({
  membership,
  store,
  lease,
  logId,
  backup,
  options,
  events,
  closers,
}: CommandServiceOptions): CommandService {
  const { id, password, slotWaitMs = DEFAULT_SLOT_WAIT_MS, redirects } = options;
  const { node, clientPort } = membership;
  const table = new SlotTable();
  const clients = new ClientSet();
  const { port } = clientPort;
  const nodes = (): ReturnType<Membership['nodes']> => membership.nodes();
  const view = new View({
    member: id,
    table,
    clients,
    port,
    password,
    nodes,
    monitor: options.monitor,
    onShutdown: events.shutdown && (() => events.shutdown!()),
  });
  const peers = new PeerLinks(node.mesh);
  closers.add(() => peers.close());
  // Where requests are collected for some turns, the server has many clients: its own writes are collected too.
  const isCollecting = (): boolean => peers.isCollecting;
  const executor = new Executor(store, lease, view, () => peers.flush(), isCollecting);
  peers.onSent(() => executor.schedule());
  const commands = createCommandTable();
  const status = new StatusService({
    mesh: node.mesh,
    coordinator: membership.coordinator,
    executor,
    table,
    lease,
    logId,
    backup,
    servers: () => membership.servers(),
    nodes,
  });
  closers.add(() => status.close());
  const { coordinator } = membership;
  const members = () => membership.members();
  const snapshots = new SnapshotService({ self: id, store, table, lease });
  const admin = new ClusterAdmin({ status, members, snapshots, coordinator });
  const http = new HttpRefusals((address) => events.httpRefused?.({ address }));
  const onHttp = (address: string): void => http.refused(address);
  const router = new Router({
    executor,
    commands,
    self: id,
    table,
    peers,
    slotWaitMs,
    redirects,
    admin,
    onHttp,
  });
  closers.add(() => router.close());
  new RespServer({ port: clientPort, executor, router, clients, isPasswordNeeded: password !== undefined });
  const sweep = new ExpirySweep(executor);
  closers.add(() => sweep.close());
  return { table, commands, executor, peers };
}
