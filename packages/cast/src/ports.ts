import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { describeAddress } from '@rdmc/mesh/sockets';
import { CastError, codeOf, messageOf } from './errors.js';

export type PortRange = readonly [first: number, last: number];

/** @throws CastError ERR_RDMC_ADDRESS_IN_USE, ERR_RDMC_LISTEN_FAILED */
export async function listenAt(host: string, port: number): Promise<Server> {
  const server = createServer();
  server.listen({ host, port });
  try {
    await once(server, 'listening');
    return server;
  } catch (cause) {
    const where = describeAddress({ host, port });
    if (codeOf(cause) === 'EADDRINUSE') {
      const message = `${where} is in use; end the process that listens there, or choose another port`;
      throw new CastError('ERR_RDMC_ADDRESS_IN_USE', message, { cause });
    }
    const message = `cannot listen on ${where}: ${messageOf(cause)}; give an address of this machine`;
    throw new CastError('ERR_RDMC_LISTEN_FAILED', message, { cause });
  }
}

/** Listens on a free port of the range, or on any. @throws CastError */
export async function listenWithin(host: string, range: PortRange | undefined): Promise<Server> {
  if (range === undefined) return listenAt(host, 0);
  const [first, last] = range;
  for (let port = first; port <= last; port += 1) {
    try {
      return await listenAt(host, port);
    } catch (error) {
      if (codeOf(error) !== 'ERR_RDMC_ADDRESS_IN_USE') throw error;
    }
  }
  throw portsInUse(host, range);
}

/** No port of the range is free. */
export function portsInUse(host: string, [first, last]: PortRange, cause?: unknown): CastError {
  const message = `all ports from ${first} to ${last} of ${host} are in use; allow more, two for each cast at a time`;
  return new CastError('ERR_RDMC_ADDRESS_IN_USE', message, { cause });
}

export function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}
