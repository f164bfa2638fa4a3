import { Router } from '../cluster/router.js';
import { SlotTable } from '../cluster/slot-table.js';
import { DEFAULT_MAX_CLIENTS, DEFAULT_PARK_MS, DEFAULT_PORT } from '../limits.js';
import { NoLog } from '../log/no-log.js';
import { Executor } from '../server/executor.js';
import { RespServer } from '../server/resp-server.js';
import { Store } from '../store/store.js';
import { ExpirySweep } from './expiry-sweep.js';
import { type Protection, requireProtection } from './protection.js';
import { View } from './view.js';

const SELF = 0;

export interface StandaloneOptions extends Protection {
  /** Default 127.0.0.1. */
  readonly host?: string | undefined;
  /** Default 6379; 0: any. */
  readonly port?: number | undefined;
  readonly maxClients?: number | undefined;
  readonly password?: string | undefined;
}

/** One process without replication: what it holds is lost with it. The ceiling that replication is measured against. */
export class Standalone {
  private constructor(
    private readonly server: RespServer,
    private readonly sweep: ExpirySweep,
  ) {}

  /** @throws KvError ERR_RDMC_KV_UNPROTECTED; the system's error where the port cannot be had */
  static async start(options: StandaloneOptions = {}): Promise<Standalone> {
    requireProtection(options);
    const store = new Store(new NoLog());
    const table = SlotTable.of(SELF);
    const view = new View(SELF, table, options.password);
    const executor = new Executor(store, { valid: true }, view);
    const router = new Router(executor, SELF, table, undefined, DEFAULT_PARK_MS);
    const { host = '127.0.0.1', port = DEFAULT_PORT, maxClients = DEFAULT_MAX_CLIENTS, password } = options;
    const server = new RespServer(executor, router, { host, port, maxClients, password });
    view.server = server;
    await server.listen();
    view.addresses = () => [{ member: SELF, host, port: server.port, connected: true }];
    return new Standalone(server, new ExpirySweep(executor));
  }

  get port(): number {
    return this.server.port;
  }

  async close(): Promise<void> {
    this.sweep.close();
    await this.server.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
