import { Router } from '../cluster/router.js';
import { SlotTable } from '../cluster/slot-table.js';
import { createCommandTable } from '../commands/table.js';
import { DEFAULT_MAX_CLIENTS, DEFAULT_PORT, DEFAULT_SLOT_WAIT_MS } from '../limits.js';
import { NoLog } from '../log/no-log.js';
import type { MonitorOptions } from '../monitor/monitor.js';
import { ClientPort, type ServerTls } from '../server/client-port.js';
import { ClientSet } from '../server/client-set.js';
import { Executor } from '../server/executor.js';
import { RespServer } from '../server/resp-server.js';
import { Keyspace } from '../store/keyspace.js';
import { Store } from '../store/store.js';
import type { ServerEvents } from './cluster-options.js';
import { ExpirySweep } from './expiry-sweep.js';
import { type Protection, requireProtection } from './protection.js';
import { type ServerStatistics, statisticsOf } from './server-statistics.js';
import { View } from './view.js';

const SELF = 0;

/** The options of `Standalone.start`. */
export interface StandaloneOptions extends Protection {
  /** Default 127.0.0.1. */
  readonly host?: string | undefined;
  /** Default 6379; 0: any. */
  readonly port?: number | undefined;
  /** Connections of clients at once. */
  readonly maxClients?: number | undefined;
  /** The password of clients, for AUTH; default: none. */
  readonly password?: string | undefined;
  /** Clients connect with TLS only; undefined: without TLS. */
  readonly tls?: ServerTls | undefined;
  /** The thresholds of SLOWLOG and LATENCY. */
  readonly monitor?: MonitorOptions | undefined;
}

/** One process without replication: its keys are lost with it. Replication is compared with it. */
export class Standalone {
  private constructor(
    private readonly server: RespServer,
    private readonly sweep: ExpirySweep,
    private readonly executor: Executor,
    private readonly clientPort: ClientPort,
  ) {}

  /** @throws KvError ERR_RDMC_KV_UNPROTECTED, ERR_RDMC_KV_LISTEN_FAILED, ERR_RDMC_KV_INVALID_TLS */
  static async start(
    options: StandaloneOptions = {},
    events: Pick<ServerEvents, 'shutdown'> = {},
  ): Promise<Standalone> {
    requireProtection(options);
    const { host = '127.0.0.1', port = DEFAULT_PORT, maxClients = DEFAULT_MAX_CLIENTS, password } = options;
    const clientPort = await ClientPort.listen({ host, port, maxClients, tls: options.tls });
    const address = { member: SELF, host, port: clientPort.port, connected: true };
    const table = SlotTable.of(SELF);
    const clients = new ClientSet();
    const view = new View({
      member: SELF,
      table,
      clients,
      port: clientPort.port,
      password,
      nodes: () => [address],
      monitor: options.monitor,
      onShutdown: events.shutdown && (() => events.shutdown!()),
    });
    const executor = new Executor(new Store(new Keyspace(), new NoLog()), { valid: true }, view);
    const commands = createCommandTable();
    const router = new Router({
      executor,
      commands,
      self: SELF,
      table,
      peers: undefined,
      slotWaitMs: DEFAULT_SLOT_WAIT_MS,
    });
    const isPasswordNeeded = password !== undefined;
    const server = new RespServer({ port: clientPort, executor, router, clients, isPasswordNeeded });
    return new Standalone(server, new ExpirySweep(executor), executor, clientPort);
  }

  /** What this server has done, and holds, at this moment. */
  statistics(): ServerStatistics {
    return statisticsOf(this.executor, this.clientPort);
  }

  /** The port for clients, also if any port was asked for. */
  get port(): number {
    return this.server.port;
  }

  /** Closes the port and the connections of clients; the keys are lost. */
  async close(): Promise<void> {
    this.sweep.close();
    await this.server.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
