import type { Router } from '../cluster/router.js';
import { Client, type ClientHost } from './client.js';
import type { ClientPort } from './client-port.js';
import type { ClientSet } from './client-set.js';
import type { Executor } from './executor.js';
import { UnfinishedCommands } from './unfinished-commands.js';

export interface RespServerOptions {
  /** The port for clients. */
  readonly port: ClientPort;
  readonly executor: Executor;
  readonly router: Router;
  readonly clients: ClientSet;
  /** Whether clients must give a password before anything else. */
  readonly isPasswordNeeded: boolean;
}

/** Serves clients in RESP from its construction on. */
export class RespServer implements ClientHost {
  readonly executor: Executor;
  readonly unfinished = new UnfinishedCommands();
  readonly #router: Router;
  readonly #clients: ClientSet;
  readonly #port: ClientPort;
  #lastId = 0;

  constructor({ port, executor, router, clients, isPasswordNeeded }: RespServerOptions) {
    this.executor = executor;
    this.#router = router;
    this.#clients = clients;
    this.#port = port;
    port.serve((socket) => {
      this.#lastId += 1;
      clients.add(new Client(this.#lastId, socket, this, !isPasswordNeeded));
    });
  }

  get port(): number {
    return this.#port.port;
  }

  dispatch(client: Client): void {
    this.executor.node.commandsProcessed += 1;
    this.#router.dispatch(client);
  }

  closed(client: Client): void {
    this.#clients.delete(client);
  }

  /** Disconnects all clients; resolves when the port is free. */
  close(): Promise<void> {
    return this.#port.close();
  }
}
