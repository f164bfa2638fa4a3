import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';

export interface ClientPortOptions {
  readonly host: string;
  /** 0: any port. */
  readonly port: number;
  /** Connections beyond this number are refused. */
  readonly maxClients: number;
}

/** The listening port for clients. Connections that come before `serve` wait, and their bytes are not read. */
export class ClientPort {
  readonly #open = new Set<Socket>();
  #waiting: Socket[] = [];
  #serve: ((socket: Socket) => void) | undefined;

  private constructor(
    private readonly server: Server,
    private readonly maxClients: number,
  ) {
    server.on('connection', (socket) => this.#accept(socket));
  }

  /** @throws the system's error where the port is not available */
  static async listen({ host, port, maxClients }: ClientPortOptions): Promise<ClientPort> {
    const server = createServer({ allowHalfOpen: true, pauseOnConnect: true });
    const clientPort = new ClientPort(server, maxClients);
    server.listen({ host, port, backlog: 511 });
    await once(server, 'listening');
    return clientPort;
  }

  get port(): number {
    return (this.server.address() as { port: number } | null)?.port ?? 0;
  }

  /** Hands over each connection, those that wait first. */
  serve(serve: (socket: Socket) => void): void {
    this.#serve = serve;
    for (const socket of this.#waiting.splice(0)) this.#hand(socket, serve);
  }

  /** Resolves when the port is free; ends the connections that wait. */
  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.server.close(resolve));
    for (const socket of this.#open) socket.destroy();
    await closed;
  }

  #accept(socket: Socket): void {
    socket.on('error', () => socket.destroy());
    if (this.#open.size >= this.maxClients) {
      // The client's bytes are read, so that the system does not reset the connection before the reply is sent.
      socket.resume();
      socket.end('-ERR max number of clients reached\r\n', () => socket.destroy());
      return;
    }
    this.#open.add(socket);
    socket.once('close', () => this.#open.delete(socket));
    if (this.#serve) this.#hand(socket, this.#serve);
    else this.#waiting.push(socket);
  }

  #hand(socket: Socket, serve: (socket: Socket) => void): void {
    if (socket.destroyed) return;
    serve(socket);
    socket.resume();
  }
}
