import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { PORTS } from './emulator.js';

type PortName = (typeof PORTS)[number];

/** The host's ends of the guest's ports: sockets in the run's directory, to which the emulator connects. */
export class Ports {
  private constructor(
    private readonly servers: readonly Server[],
    private readonly sockets: Map<PortName, Promise<Socket>>,
  ) {}

  static async open(directory: string): Promise<Ports> {
    const sockets = new Map<PortName, Promise<Socket>>();
    const servers = await Promise.all(
      PORTS.map(async (name) => {
        const server = createServer();
        server.listen(join(directory, name));
        sockets.set(
          name,
          once(server, 'connection').then(([socket]) => socket as Socket),
        );
        await once(server, 'listening');
        return server;
      }),
    );
    return new Ports(servers, sockets);
  }

  /** Resolves when the emulator has connected to that port. */
  socket(name: PortName): Promise<Socket> {
    return this.sockets.get(name)!;
  }

  close(): void {
    for (const server of this.servers) server.close();
  }
}
