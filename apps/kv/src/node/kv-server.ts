import { readShape } from '@rdmc/common/shapes';
import { Backup } from '@rdmc/tailwind/backup';
import type { CoordinatorClient } from '@rdmc/tailwind/coordinator';
import { Imports } from '../cluster/imports.js';
import {
  abandonMessage,
  COORDINATOR,
  importedMessage,
  Topic,
  tableMessage,
  takeoverMessage,
} from '../cluster/messages.js';
import { PeerSink } from '../cluster/peer-sink.js';
import { Peers } from '../cluster/peers.js';
import { Router } from '../cluster/router.js';
import { SlotTable } from '../cluster/slot-table.js';
import { takeOver } from '../cluster/takeover.js';
import { KvError } from '../errors.js';
import { DEFAULT_MAX_CLIENTS, DEFAULT_PARK_MS, DEFAULT_PORT } from '../limits.js';
import { NoLog } from '../log/no-log.js';
import { Executor } from '../server/executor.js';
import { RespServer } from '../server/resp-server.js';
import { Store } from '../store/store.js';
import { JOIN_TIMEOUT_MS, type ServerEvents, type ServerOptions } from './cluster-options.js';
import { EpochGate } from './epoch-gate.js';
import { ExpirySweep } from './expiry-sweep.js';
import { joinCluster, type LogsNode } from './join-cluster.js';
import { type OpenLog, openLog } from './open-log.js';
import { requireKeyForPassword, requireProtection } from './protection.js';
import { View } from './view.js';

const WILDCARDS = ['0.0.0.0', '::'];
const DEFAULT_BUFFERS = 24;
const HTTP_EVENT_MS = 60_000;

/** One server of a cluster: primary of a part of the keys, backup of the others' logs, and a door for clients. */
export class KvServer {
  readonly #ended = new AbortController();
  readonly #closers: (() => unknown)[] = [];
  readonly #table = new SlotTable();
  readonly #gate = new EpochGate(this.#table);
  readonly #store = new Store(new NoLog());
  readonly #view: View;
  readonly #executor: Executor;
  readonly #imports = new Imports(this.#store);
  #log: OpenLog | undefined;
  #backup: Backup | undefined;
  #router!: Router;
  #server!: RespServer;
  #peers!: Peers;
  #node!: LogsNode;

  #httpToldAt = Number.NEGATIVE_INFINITY;

  private constructor(
    private readonly options: ServerOptions,
    private readonly events: ServerEvents,
  ) {
    const { id, password } = options;
    this.#view = new View(id, this.#table, password);
    const lease = { isValid: () => this.#log?.lease.valid ?? true };
    this.#executor = new Executor(
      this.#store,
      {
        get valid() {
          return lease.isValid();
        },
      },
      this.#view,
    );
  }

  /**
   * Resolves when this server has its log; it serves when the coordinator says what.
   * @throws KvError ERR_RDMC_KV_UNPROTECTED, ERR_RDMC_KV_LEFT_BEHIND; NodeError, MeshError, TailwindError, VerbsError
   */
  static async start(options: ServerOptions, events: ServerEvents = {}): Promise<KvServer> {
    requireProtection(options);
    requireKeyForPassword(options.password, options.key);
    const server = new KvServer(options, events);
    try {
      await server.#start();
      return server;
    } catch (error) {
      await server.close();
      throw error;
    }
  }

  get port(): number {
    return this.#server.port;
  }

  /** Aborted, with the reason, when this server can serve no more: it was fenced, or the coordinator is gone. */
  get signal(): AbortSignal {
    return this.#ended.signal;
  }

  /** The device that logs are replicated over, and why it is that one. */
  get device(): LogsNode['device']['choice'] {
    return this.#node.device.choice;
  }

  get backup(): Backup | undefined {
    return this.#backup;
  }

  /** Ends at once: clients are disconnected, and what backups hold only in memory is dropped. See `backup.dump`. */
  async close(): Promise<void> {
    this.#end(new KvError('ERR_RDMC_KV_CLOSED', 'this server was closed'));
    for (const close of this.#closers.splice(0).reverse()) await close();
  }

  async #start(): Promise<void> {
    const { options } = this;
    const own = options.members.find(({ id }) => id === options.id)!;
    this.#peers = await Peers.listen(own.host, options.key);
    this.#closers.push(() => this.#peers.close());
    await this.#listen();
    await this.#join();
    const { mesh, logs } = this.#node;
    const coordinator = logs.coordinator(COORDINATOR);
    await this.#startBackup(coordinator);
    const servers = options.members.map(({ id }) => id).filter((id) => id !== COORDINATOR);
    await this.#connectPeers(servers);
    this.#log = await openLog(options, logs, coordinator, servers, this.#store);
    this.#closers.push(() => this.#log!.close());
    this.#log.ended.addEventListener('abort', () => {
      this.#executor.logEnded();
      this.#end(this.#log!.ended.reason);
    });
    this.#answerTakeovers(coordinator, servers);
    const sweep = new ExpirySweep(this.#executor);
    this.#closers.push(() => sweep.close());
    await mesh.request(COORDINATOR, Topic.REGISTER, { logId: String(this.#log.logId) });
  }

  async #listen(): Promise<void> {
    const {
      host = '127.0.0.1',
      port = DEFAULT_PORT,
      maxClients = DEFAULT_MAX_CLIENTS,
      password,
      id,
    } = this.options;
    const parkMs = this.options.parkMs ?? DEFAULT_PARK_MS;
    this.#router = new Router(this.#executor, id, this.#table, this.#peers, parkMs);
    this.#router.onHttp = (address) => this.#httpRefused(address);
    this.#server = new RespServer(this.#executor, this.#router, { host, port, maxClients, password });
    this.#view.server = this.#server;
    await this.#server.listen();
    this.#closers.push(() => this.#server.close());
    this.#closers.push(() => this.#router.close());
  }

  async #join(): Promise<void> {
    const {
      id,
      members,
      key,
      host = '127.0.0.1',
      joinTimeoutMs = JOIN_TIMEOUT_MS,
      silenceTimeoutMs,
      device,
      windowMs,
    } = this.options;
    const own = members.find((member) => member.id === id)!;
    const announce = this.options.announce ?? (WILDCARDS.includes(host) ? own.host : host);
    this.#node = await joinCluster({
      id,
      members,
      timeoutMs: joinTimeoutMs,
      attributes: {
        kvPeerPort: this.#peers.port,
        kvPort: this.#server.port,
        kvHost: announce,
      },
      ...(key !== undefined && { key }),
      ...(silenceTimeoutMs !== undefined && { silenceTimeoutMs }),
      ...(device !== undefined && { device }),
      ...(windowMs !== undefined && { windowMs }),
    });
    this.#closers.push(() => this.#node.close());
    this.#watchMembers(announce);
  }

  #watchMembers(announce: string): void {
    const { id, mesh } = this.#node;
    const others = [...mesh.peers.values()].filter((peer) => peer.id !== COORDINATOR);
    this.#view.addresses = () => [
      { member: id, host: announce, port: this.#server.port, connected: true },
      ...others.map(({ id: member, attributes, state }) => ({
        member,
        host: String(attributes.kvHost),
        port: Number(attributes.kvPort),
        connected: state === 'connected',
      })),
    ];
    const subscriptions = [
      mesh.onFailure(({ member, reason }) => this.#memberLost(member, reason)),
      mesh.onLeave((member) => this.#memberLost(member, 'it left')),
      mesh.onMessage(Topic.TABLE, (from, body) => {
        if (from === COORDINATOR) this.#updateTable(body);
      }),
    ];
    this.#closers.push(() => {
      for (const each of subscriptions) each.close();
    });
  }

  async #startBackup(coordinator: CoordinatorClient): Promise<void> {
    const { directory, segmentBytes, buffers = DEFAULT_BUFFERS, replicas } = this.options;
    if (replicas === 0) return;
    const { logs, protectionDomain } = this.#node;
    const clusterId = await coordinator.clusterId();
    this.#backup = await Backup.open({
      protectionDomain,
      directory,
      clusterId,
      buffers,
      ...(segmentBytes !== undefined && { segmentBytes }),
    });
    const service = logs.serve(this.#backup, { coordinator });
    this.#closers.push(async () => {
      await service.close();
      await this.#backup!.close();
    });
  }

  async #connectPeers(servers: readonly number[]): Promise<void> {
    const others = servers.filter((id) => id !== this.options.id);
    await this.#peers.start(this.#node.mesh, others, this.#router, {
      serve: (socket) => {
        const sink = new PeerSink(socket, this.#executor, this.#router.isOwn);
        socket.on('close', () => this.#executor.forget(sink));
        return (payload) => {
          const epoch = payload.readUInt32LE(0);
          const wait = this.#gate.reached(epoch);
          return wait ? wait.then(() => sink.run(payload)) : sink.run(payload);
        };
      },
      records: (payload, session) => this.#imports.take(payload, session),
      sessionEnded: (session) => this.#imports.sessionEnded(session),
    });
  }

  #answerTakeovers(coordinator: CoordinatorClient, servers: readonly number[]): void {
    const { mesh, logs } = this.#node;
    const [peers, imports] = [this.#peers, this.#imports];
    const ended = this.#ended.signal;
    const options = { mesh, logs, coordinator, peers, imports, servers, ended };
    const subscriptions = [
      mesh.onRequest(Topic.TAKEOVER, (_, body) => takeOver(options, readShape(takeoverMessage, body))),
      mesh.onRequest(Topic.IMPORTED, (_, body) => {
        const { takeover, frames, session } = readShape(importedMessage, body);
        return imports.finish({ takeover, frames, session }, ended);
      }),
      mesh.onRequest(Topic.ABANDON, async (_, body) => {
        const { takeover, ranges } = readShape(abandonMessage, body);
        await imports.abandon(takeover, ranges);
        return null;
      }),
    ];
    this.#closers.push(() => {
      for (const each of subscriptions) each.close();
    });
  }

  #updateTable(body: unknown): void {
    const { epoch, ranges } = readShape(tableMessage, body);
    this.#router.updateTable(() => {
      this.#table.update(
        epoch,
        ranges.map(([from, to, member]) => ({ from, to, member })),
      );
    });
    this.#gate.changed();
  }

  #httpRefused(address: string): void {
    const now = performance.now();
    if (now - this.#httpToldAt < HTTP_EVENT_MS) return;
    this.#httpToldAt = now;
    this.events.httpRefused?.({ address });
  }

  #memberLost(member: number, reason: string): void {
    this.events.memberLost?.({ member, reason });
    if (member === COORDINATOR) {
      this.#end(new KvError('ERR_RDMC_KV_COORDINATOR_LOST', `the coordinator is gone: ${reason}`));
      return;
    }
    this.#table.drop(member);
    this.#peers.drop(member);
  }

  #end(reason: unknown): void {
    if (!this.#ended.signal.aborted) this.#ended.abort(reason);
  }
}
