import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { Deferred } from '@rdmc/common';
import { KeyedSockets } from '@rdmc/mesh';
import { PEER_PURPOSE } from './peer-frames.js';

/**
 * Where other servers connect. It listens before the server joins the mesh, whose attributes have the port; connections
 * that come before `serve` prove the key and wait.
 */
export class PeerPort {
  readonly #accepted = new Set<Socket>();
  readonly #serve = new Deferred<(socket: Socket) => void>();

  private constructor(
    private readonly server: Server,
    readonly sockets: KeyedSockets,
  ) {
    server.on('connection', (raw) => void this.#accept(raw));
  }

  /** Without a key, servers use the key of their user. @throws MeshError ERR_RDMC_MESH_WEAK_KEY, ERR_RDMC_MESH_USER_KEY */
  static async listen(host: string, key: string | undefined): Promise<PeerPort> {
    const sockets = new KeyedSockets({ key, purpose: PEER_PURPOSE });
    const server = createServer();
    server.listen({ host, port: 0 });
    await once(server, 'listening');
    return new PeerPort(server, sockets);
  }

  get port(): number {
    return (this.server.address() as { port: number }).port;
  }

  /** Hands over each connection that has proved the key; the socket is paused. */
  serve(serve: (socket: Socket) => void): void {
    this.#serve.resolve(serve);
  }

  close(): void {
    this.server.close();
    for (const socket of this.#accepted) socket.destroy();
  }

  /** Until the key is proved, `KeyedSockets` bounds the number and the time of connections. */
  async #accept(raw: Socket): Promise<void> {
    this.#accepted.add(raw);
    raw.once('close', () => this.#accepted.delete(raw));
    try {
      const socket = await this.sockets.accept(raw);
      // Only the TLS socket from now on: Node 20 crashes where both are destroyed in one turn.
      this.#accepted.delete(raw);
      this.#accepted.add(socket);
      socket.on('close', () => this.#accepted.delete(socket));
      socket.on('error', () => socket.destroy());
      socket.setNoDelay(true);
      const serve = await this.#serve.promise;
      serve(socket);
    } catch {
      raw.destroy();
    }
  }
}
