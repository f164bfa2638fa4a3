import { once } from 'node:events';
import { createServer, connect as dial, type Server, type Socket } from 'node:net';

/** A proxy in front of a member's listener; it can drop the bytes of either direction. */
export class MeshValve {
  readonly #sockets = new Set<Socket>();
  #dropsIn = false;
  #dropsOut = false;

  private constructor(
    private readonly server: Server,
    private readonly port: number,
  ) {}

  /** Opens one for the listener at that loopback port. */
  static async before(port: number): Promise<MeshValve> {
    const server = createServer();
    const valve = new MeshValve(server, port);
    server.on('connection', (socket) => valve.#join(socket));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return valve;
  }

  /** The address for the others to dial. */
  get address(): { readonly host: string; readonly port: number } {
    return { host: '127.0.0.1', port: (this.server.address() as { port: number }).port };
  }

  /** From now on bytes to the member, or from it, are dropped without an error. */
  cut(direction: 'in' | 'out' | 'both'): void {
    if (direction !== 'out') this.#dropsIn = true;
    if (direction !== 'in') this.#dropsOut = true;
  }

  close(): void {
    this.server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  #join(outside: Socket): void {
    const inside = dial(this.port, '127.0.0.1');
    this.#carry(outside, inside, () => this.#dropsIn);
    this.#carry(inside, outside, () => this.#dropsOut);
  }

  #carry(from: Socket, to: Socket, drops: () => boolean): void {
    this.#sockets.add(from);
    from.on('data', (bytes) => {
      if (!drops()) to.write(bytes);
    });
    from.on('end', () => {
      if (!drops()) to.end();
    });
    from.on('error', () => {});
    from.on('close', () => {
      this.#sockets.delete(from);
      if (!drops()) to.destroy();
    });
  }
}
