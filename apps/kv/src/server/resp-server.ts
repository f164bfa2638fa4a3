import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import type { Router } from '../cluster/router.js';
import { Client, type ClientHost } from './client.js';
import type { Executor } from './executor.js';
import { UnfinishedCommands } from './unfinished-commands.js';

export interface RespServerOptions {
  readonly host: string;
  readonly port: number;
  readonly maxClients: number;
  /** Clients must give it before anything else. */
  readonly password: string | undefined;
}

/** Where clients connect. */
export class RespServer implements ClientHost {
  readonly #clients = new Set<Client>();
  readonly #server: Server;
  readonly unfinished = new UnfinishedCommands();
  #lastId = 0;

  constructor(
    readonly executor: Executor,
    private readonly router: Router,
    private readonly options: RespServerOptions,
  ) {
    this.#server = createServer({ allowHalfOpen: true }, (socket) => {
      if (this.#clients.size >= options.maxClients) {
        socket.on('error', () => socket.destroy());
        socket.end('-ERR max number of clients reached\r\n', () => socket.destroy());
        return;
      }
      this.#lastId += 1;
      this.#clients.add(new Client(this.#lastId, socket, this, options.password === undefined));
    });
  }

  /** @throws the system's error where the port cannot be had */
  async listen(): Promise<void> {
    const { host, port } = this.options;
    this.#server.listen({ host, port, backlog: 511 });
    await once(this.#server, 'listening');
  }

  get port(): number {
    return (this.#server.address() as { port: number } | null)?.port ?? this.options.port;
  }

  get clients(): number {
    return this.#clients.size;
  }

  clientList(): string[] {
    return [...this.#clients].map(
      ({ id, address, name, version }) => `id=${id} addr=${address} name=${name} resp=${version}`,
    );
  }

  dispatch(client: Client): void {
    this.executor.node.commandsProcessed += 1;
    this.router.dispatch(client);
  }

  closed(client: Client): void {
    this.#clients.delete(client);
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    for (const client of this.#clients) client.destroy();
    await closed;
  }
}
