import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { invalidArgument } from './errors.js';
import { integer } from './options.js';

/** A loopback port nobody else can take as long as `server` listens. */
export interface ReservedPort {
  readonly host: string;
  readonly port: number;
  /** Give it to `Mesh.join` as `server`, in the same process, or close it and use the port elsewhere. */
  readonly server: Server;
}

/**
 * Finds free ports on loopback for tests and demonstrations. A list of members needs its ports
 * before any member starts, and a port that was only looked up can be taken meanwhile; so the
 * servers stay open, and in one process there is no race at all. For other processes close them
 * first: another program could then take a port, which the member's ERR_RDMC_MESH_LISTEN_FAILED
 * would say. Callers that come before the mesh owns a server are turned away and dial again.
 */
export async function reserveLoopbackPorts(
  count: number,
  host: '127.0.0.1' | '::1' = '127.0.0.1',
): Promise<ReservedPort[]> {
  integer('count', count, 0, 0, 4096);
  if (host !== '127.0.0.1' && host !== '::1')
    throw invalidArgument(`host: found ${String(host)}, needed a loopback`);
  return Promise.all(Array.from({ length: count }, () => reserve(host)));
}

async function reserve(host: string): Promise<ReservedPort> {
  const server = createServer((socket) => socket.on('error', () => {}).destroy());
  server.listen({ host, port: 0 });
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw invalidArgument(`no port on ${host}`);
  return { host, port: address.port, server };
}
