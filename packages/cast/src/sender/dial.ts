import { lookup } from 'node:dns/promises';
import { systemReason } from '@rdmc/common';
import type { KeyedSockets } from '@rdmc/mesh/sockets';
import type { Target } from '../checked-cast-options.js';
import { ControlChannel } from '../control/control-channel.js';
import { type ReceiverFrame, type SenderFrame, shapes } from '../control/frames.js';
import { CastError, codeOf, messageOf } from '../errors.js';
import { endedBySender } from './link-errors.js';

export interface Dialling {
  readonly sockets: KeyedSockets;
  /** The host's address, as resolved. */
  readonly address: string;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** The address of every host, or the error of its look-up. */
export async function resolveHosts(
  targets: readonly Target[],
): Promise<ReadonlyMap<string, string | CastError>> {
  const hosts = [...new Set(targets.map(({ host }) => host))];
  const resolved = hosts.map(async (host): Promise<[string, string | CastError]> => {
    try {
      return [host, (await lookup(host)).address];
    } catch (cause) {
      const message = `the name ${host} does not resolve (${codeOf(cause) ?? messageOf(cause)}); check the name, or give the address`;
      return [host, new CastError('ERR_RDMC_UNKNOWN_HOST', message, { cause, receiver: host })];
    }
  });
  return new Map(await Promise.all(resolved));
}

/** @throws CastError ERR_RDMC_CAST_UNREACHABLE, ERR_RDMC_KEY_MISMATCH, ERR_RDMC_ABORTED */
export async function dial(
  target: Target,
  { sockets, address, timeoutMs, signal }: Dialling,
): Promise<ControlChannel<SenderFrame, ReceiverFrame>> {
  const to = { host: address, port: target.port };
  try {
    const socket = await sockets.connect(to, { timeoutMs, signal });
    return new ControlChannel<SenderFrame, ReceiverFrame>(socket, shapes.receiver, target.name);
  } catch (cause) {
    const details = { cause, receiver: target.name };
    if (codeOf(cause) === 'ERR_RDMC_MESH_WRONG_KEY') {
      const message = `${target.name} uses another key, or does not use one; give sender and receivers the same key (this end uses ${sockets.keyName})`;
      throw new CastError('ERR_RDMC_KEY_MISMATCH', message, details);
    }
    if (codeOf(cause) === 'ERR_RDMC_ABORTED') throw endedBySender(target.name, cause);
    const where = address === target.host ? '' : ` at ${address}`;
    const message = `${target.name} cannot be reached${where}: ${reasonOf(cause)}; is 'rdmc receive' running there?`;
    throw new CastError('ERR_RDMC_CAST_UNREACHABLE', message, details);
  }
}

/** The error of the sockets begins with the address, and the one below it often has it too; the message has it already. */
function reasonOf(error: unknown): string {
  return systemReason((error instanceof Error && error.cause) || error);
}
