import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { KvError, messageOf } from '../errors.js';
import { TLS_HANDSHAKE_MS } from '../limits.js';
import { withSharedInput } from './shared-input.js';

/** A certificate with its chain, and its key, each in PEM. */
export interface ServerTls {
  /** The certificate, and those that it needs up to an authority of the clients. */
  readonly cert: string | Buffer;
  /** The private key, not encrypted. */
  readonly key: string | Buffer;
}

export interface ClientPortOptions {
  readonly host: string;
  /** 0: any port. */
  readonly port: number;
  /** Connections beyond this number are refused. */
  readonly maxClients: number;
  /** Undefined: clients connect without TLS. */
  readonly tls?: ServerTls | undefined;
}

/** The listening port for clients. Connections that come before `serve` wait, and their bytes are not read. */
export class ClientPort {
  readonly #open = new Set<Socket>();
  #waiting: Socket[] = [];
  #serve: ((socket: Socket) => void) | undefined;
  /** Connections that were accepted, and that were refused because there were too many. */
  accepted = 0;
  refused = 0;

  private constructor(
    private readonly server: Server,
    private readonly maxClients: number,
    private readonly isTls: boolean,
  ) {
    server.on('connection', (socket) => this.#connected(socket));
    // The system's connection counts from its beginning; the client's bytes come from the one with TLS.
    if (isTls) server.on('secureConnection', (socket: Socket) => this.#ready(socket));
  }

  /** @throws KvError ERR_RDMC_KV_LISTEN_FAILED, ERR_RDMC_KV_INVALID_TLS */
  static async listen({ host, port, maxClients, tls }: ClientPortOptions): Promise<ClientPort> {
    const server = tls ? tlsServer(tls) : createServer({ allowHalfOpen: true, pauseOnConnect: true });
    const clientPort = new ClientPort(server, maxClients, tls !== undefined);
    server.listen({ host, port, backlog: 511 });
    try {
      await once(server, 'listening');
    } catch (error) {
      throw cannotListen(host, port, error);
    }
    return clientPort;
  }

  get port(): number {
    return (this.server.address() as { port: number } | null)?.port ?? 0;
  }

  /** Hands over each connection, those that wait first. The bytes of 'data' events are valid until the listener returns. */
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

  #connected(socket: Socket): void {
    if (this.#open.size >= this.maxClients) {
      this.#refuse(socket);
      return;
    }
    this.accepted += 1;
    this.#keep(socket);
    if (!this.isTls) this.#ready(socket);
  }

  #refuse(socket: Socket): void {
    this.refused += 1;
    socket.on('error', () => socket.destroy());
    if (this.isTls) {
      socket.destroy();
      return;
    }
    // The client's bytes are read, so that the system does not reset the connection before the reply is sent.
    socket.resume();
    socket.end('-ERR max number of clients reached\r\n', () => socket.destroy());
  }

  #ready(socket: Socket): void {
    if (this.isTls) socket.on('error', () => socket.destroy());
    if (this.#serve) this.#hand(socket, this.#serve);
    else this.#waiting.push(socket);
  }

  #hand(socket: Socket, serve: (socket: Socket) => void): void {
    if (socket.destroyed) return;
    const read = this.isTls ? socket : withSharedInput(socket);
    if (read !== socket) this.#keep(read);
    serve(read);
    read.resume();
  }

  #keep(socket: Socket): void {
    this.#open.add(socket);
    socket.on('error', () => socket.destroy());
    socket.once('close', () => this.#open.delete(socket));
  }
}

/** A client that does not finish its handshake, or does not speak TLS, is disconnected. */
function tlsServer({ cert, key }: ServerTls): Server {
  try {
    const options = { cert, key, allowHalfOpen: true, handshakeTimeout: TLS_HANDSHAKE_MS };
    const server = createTlsServer(options);
    server.on('tlsClientError', (_error, socket) => socket.destroy());
    return server;
  } catch (error) {
    throw new KvError(
      'ERR_RDMC_KV_INVALID_TLS',
      `the certificate and the key for clients cannot be used: ${messageOf(error)}; give a certificate and its own key, in PEM`,
      { cause: error },
    );
  }
}

const REASONS: Record<string, string> = {
  EADDRINUSE: 'another process uses the port (EADDRINUSE); end it, or choose another port',
  EADDRNOTAVAIL: 'this host does not have the address (EADDRNOTAVAIL); choose one of its own',
  EACCES: 'the system does not allow it (EACCES); choose a port from 1024 on',
};

function cannotListen(host: string, port: number, cause: unknown): KvError {
  const code = (cause as NodeJS.ErrnoException).code ?? '';
  const address = host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
  const reason = REASONS[code] ?? `${messageOf(cause)}; choose another address`;
  return new KvError('ERR_RDMC_KV_LISTEN_FAILED', `cannot listen for clients at ${address}: ${reason}`, {
    cause,
  });
}
