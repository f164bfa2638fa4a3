import { once } from 'node:events';
import type { Server } from 'node:net';

/** A port as `reserveLoopbackPorts` of @rdmc/mesh reserves it. */
export interface ReservedPort {
  readonly host: string;
  readonly port: number;
  readonly server: Server;
}

export interface Member {
  id: number;
  host: string;
  port: number;
}

/** Options with which a member of a list joins. */
export interface Place {
  readonly id: number;
  readonly members: Member[];
  readonly server: Server;
}

/** The list of the members at these ports: 0, 1, … */
export function membersAt(reserved: readonly Omit<ReservedPort, 'server'>[]): Member[] {
  return reserved.map(({ host, port }, id) => ({ id, host, port }));
}

/** Starts a member at each of these ports, all at once: `startMembers(await reserveLoopbackPorts(3), (place) => …)`. */
export function startMembers<T>(
  reserved: readonly ReservedPort[],
  start: (place: Place) => Promise<T>,
): Promise<T[]> {
  const members = membersAt(reserved);
  return Promise.all(reserved.map(({ server }, id) => start({ id, members, server })));
}

/** Frees the ports for other processes; returns the list of the members at these ports. */
export async function freed(reserved: readonly ReservedPort[]): Promise<Member[]> {
  await Promise.all(
    reserved.map(({ server }) => {
      const closed = once(server, 'close');
      server.close();
      return closed;
    }),
  );
  return membersAt(reserved);
}

/** A listening socket's descriptor, for a child process to inherit. */
export function descriptorOf(server: Server): number {
  return (server as unknown as { _handle: { fd: number } })._handle.fd;
}
