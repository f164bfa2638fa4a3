import { KvError, messageOf } from '../errors.js';
import type { Endpoint } from '../values.js';
import { type ClientTls, Connection } from './connection.js';

export interface ConnectOptions {
  /** Undefined: the server does not need one. */
  readonly password: string | undefined;
  /** Undefined: without TLS. */
  readonly tls: ClientTls | undefined;
}

/**
 * Connects to a server as its clients do, and gives the password.
 * @throws KvError ERR_RDMC_KV_UNREACHABLE; ERR_RDMC_KV_UNAUTHENTICATED: the server has another password, or none
 */
export async function connect({ host, port }: Endpoint, options: ConnectOptions): Promise<Connection> {
  const { password, tls } = options;
  let connection: Connection;
  try {
    connection = await Connection.open(host, port, tls);
  } catch (error) {
    throw new KvError(
      'ERR_RDMC_KV_UNREACHABLE',
      `no server answers at ${host}:${port}: ${messageOf(error)}`,
      {
        cause: error,
      },
    );
  }
  if (password === undefined) return connection;
  try {
    await connection.command('AUTH', password);
    return connection;
  } catch (error) {
    connection.close();
    throw new KvError(
      'ERR_RDMC_KV_UNAUTHENTICATED',
      `the server at ${host}:${port} does not accept the password in RDMC_KV_PASSWORD: ${messageOf(error)}`,
      { cause: error },
    );
  }
}
