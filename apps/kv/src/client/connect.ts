import { Deadline, within } from '@rdmc/common';
import { codeOf, KvError, messageOf } from '../errors.js';
import type { Endpoint } from '../values.js';
import { type ClientTls, Connection } from './connection.js';

export interface ConnectOptions {
  /** Undefined: the server does not need one. */
  readonly password: string | undefined;
  /** Undefined: without TLS. */
  readonly tls: ClientTls | undefined;
  /** How long the server may take to accept the connection and to answer (default: no limit, and no answer is needed). */
  readonly timeoutMs?: number;
}

/**
 * Connects to a server as its clients do, and gives the password.
 * @throws KvError ERR_RDMC_KV_UNREACHABLE; ERR_RDMC_KV_UNAUTHENTICATED: the server has another password, or none
 */
export async function connect(endpoint: Endpoint, options: ConnectOptions): Promise<Connection> {
  const { timeoutMs } = options;
  const limit = new AbortController();
  const deadline = new Deadline({ timeoutMs, late: notWithin }, (error) => limit.abort(error));
  try {
    return await greet(await open(endpoint, options, limit.signal), endpoint, options, limit.signal);
  } finally {
    deadline.clear();
  }
}

/** @throws KvError ERR_RDMC_KV_UNREACHABLE */
async function open(endpoint: Endpoint, { tls }: ConnectOptions, signal: AbortSignal): Promise<Connection> {
  try {
    return await Connection.open(endpoint.host, endpoint.port, tls, signal);
  } catch (error) {
    throw unreachable(endpoint, signal.aborted ? signal.reason : error);
  }
}

async function greet(
  connection: Connection,
  endpoint: Endpoint,
  options: ConnectOptions,
  signal: AbortSignal,
): Promise<Connection> {
  try {
    await within(authenticate(connection, endpoint, options), { signal });
    return connection;
  } catch (error) {
    connection.close();
    const isAway = signal.aborted || codeOf(error) === 'ERR_RDMC_KV_MEMBER_LOST';
    throw isAway ? unreachable(endpoint, error) : error;
  }
}

/** A server that is stopped, or that is joining, accepts connections and does not answer: that shows here. */
async function authenticate(
  connection: Connection,
  endpoint: Endpoint,
  { password, timeoutMs }: ConnectOptions,
): Promise<void> {
  if (password === undefined) {
    const reply = timeoutMs === undefined ? undefined : await connection.ask('PING');
    // That a password is needed is an answer too. Other errors: it has too many clients.
    if (reply instanceof Error && !reply.message.startsWith('NOAUTH')) throw unreachable(endpoint, reply);
    return;
  }
  const reply = await connection.ask('AUTH', password);
  if (!(reply instanceof Error)) return;
  throw new KvError(
    'ERR_RDMC_KV_UNAUTHENTICATED',
    `the server at ${nameOf(endpoint)} does not accept the password in RDMC_KV_PASSWORD: ${reply.message}`,
    { cause: reply },
  );
}

/** `reason`: why it cannot be reached. */
export function unreachable(endpoint: Endpoint, reason: unknown): KvError {
  const text = `no server answers at ${nameOf(endpoint)}: ${messageOf(reason)}`;
  return new KvError('ERR_RDMC_KV_UNREACHABLE', text, { cause: reason });
}

export function notWithin(timeoutMs: number): KvError {
  return new KvError('ERR_RDMC_KV_UNREACHABLE', `it did not answer within ${timeoutMs / 1000} s`);
}

function nameOf({ host, port }: Endpoint): string {
  return `${host}:${port}`;
}
