import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { codeOf, invalidArgument } from './errors.js';
import { integerOption } from './option-checks.js';
import { SettledPorts } from './settled-ports.js';

/** A loopback port that no other process can use as long as `server` listens. */
export interface ReservedPort {
  /** A loopback address. */
  readonly host: string;
  /** The reserved port. */
  readonly port: number;
  /** Give it to `Mesh.join` as `server`, in the same process, or close it and use the port elsewhere. */
  readonly server: Server;
}

/** Attempts with ports that are in use, before the system chooses a port. */
const MOST_ATTEMPTS = 200;

const ports = SettledPorts.ofThisMachine();

/**
 * Finds free ports on loopback for tests and demonstrations. A list of members needs its ports
 * before any member starts, and a port that was only looked up can be taken meanwhile; so the
 * servers stay open, and in one process a race is not possible. For other processes close them
 * first: the system does not give these ports to programs that ask for any port (see `SettledPorts`), and this function
 * does not give them to another process while this one lives. Only a program that asks for the same port could take it;
 * then the member's error is ERR_RDMC_MESH_LISTEN_FAILED. Callers that come before the mesh owns a server are refused
 * and connect again.
 */
export async function reserveLoopbackPorts(
  count: number,
  host: '127.0.0.1' | '::1' = '127.0.0.1',
): Promise<ReservedPort[]> {
  integerOption('reserveLoopbackPorts', 'count', count, 0, 4096);
  if (host !== '127.0.0.1' && host !== '::1')
    throw invalidArgument(`host: found ${String(host)}, needed 127.0.0.1 or ::1`);
  return Promise.all(Array.from({ length: count }, () => reserve(host)));
}

async function reserve(host: string): Promise<ReservedPort> {
  const server = createServer((socket) => socket.on('error', () => {}).destroy());
  for (let attempt = 0; ; attempt += 1) {
    const port = attempt < MOST_ATTEMPTS ? ports.next() : 0;
    try {
      if (port !== 0) await mark(host, port);
      server.listen({ host, port });
      await once(server, 'listening');
      break;
    } catch (error) {
      if (codeOf(error) !== 'EADDRINUSE' || attempt >= MOST_ATTEMPTS) throw error;
    }
  }
  const address = server.address();
  if (address === null || typeof address === 'string') throw invalidArgument(`host: ${host} has no port`);
  return { host, port: address.port, server };
}

/**
 * Holds the UDP port of the same number until this process ends: no data is sent there, but of the processes
 * that look for ports here only one can have it, also while the port itself is free. @throws EADDRINUSE
 */
async function mark(host: string, port: number): Promise<void> {
  const socket = createSocket(host === '::1' ? 'udp6' : 'udp4').unref();
  socket.bind({ address: host, port, exclusive: true });
  try {
    await once(socket, 'listening');
  } catch (error) {
    socket.close();
    // Without UDP the port is used without a mark.
    if (codeOf(error) === 'EADDRINUSE') throw error;
  }
}
