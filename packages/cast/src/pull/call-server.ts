import { lookup } from 'node:dns/promises';
import { pause, systemReason } from '@rdmc/common';
import { CALL_AGAIN_MS } from '../constants.js';
import { ControlChannel } from '../control/control-channel.js';
import { CastError, codeOf, messageOf } from '../errors.js';
import type { CheckedFetchOptions } from './fetch-options.js';
import { type FetcherFrame, pullShapes, type ServerFrame } from './frames.js';

export type ServerChannel = ControlChannel<FetcherFrame, ServerFrame>;

/** Errors after which the server may answer a later call. A name may get its address when the server starts. */
const PASSING = new Set(['ERR_RDMC_CAST_UNREACHABLE', 'ERR_RDMC_UNKNOWN_HOST', 'ERR_RDMC_BUSY']);

/**
 * Connects to the server and does the first steps; again, where that fails for a reason that may pass, until `waitMs` is over.
 * @throws CastError ERR_RDMC_UNKNOWN_HOST, ERR_RDMC_CAST_UNREACHABLE, ERR_RDMC_KEY_MISMATCH, ERR_RDMC_BUSY; what `begin` throws
 */
export async function callServer<T>(
  options: CheckedFetchOptions,
  signal: AbortSignal,
  begin: (channel: ServerChannel) => Promise<T>,
): Promise<T> {
  const until = performance.now() + options.waitMs;
  for (;;) {
    try {
      return await begin(await connect(options, signal));
    } catch (error) {
      signal.throwIfAborted();
      if (!PASSING.has(codeOf(error) ?? '') || performance.now() + CALL_AGAIN_MS > until) throw error;
    }
    await pause(CALL_AGAIN_MS, signal);
    signal.throwIfAborted();
  }
}

async function connect(
  { host, port, server, sockets, connectTimeoutMs: timeoutMs }: CheckedFetchOptions,
  signal: AbortSignal,
): Promise<ServerChannel> {
  const address = await lookup(host).catch((cause: unknown) => {
    const message = `the name ${host} does not resolve (${codeOf(cause) ?? messageOf(cause)}); check the name, or give the address`;
    throw new CastError('ERR_RDMC_UNKNOWN_HOST', message, { cause });
  });
  try {
    const socket = await sockets.connect({ host: address.address, port }, { timeoutMs, signal });
    return new ControlChannel<FetcherFrame, ServerFrame>(socket, pullShapes.server, server);
  } catch (cause) {
    if (codeOf(cause) === 'ERR_RDMC_MESH_WRONG_KEY') {
      const message = `the server ${server} has another key, or is not 'rdmc serve'; give this end the key of the server, or one for fetching that was made from it`;
      throw new CastError('ERR_RDMC_KEY_MISMATCH', message, { cause });
    }
    if (codeOf(cause) === 'ERR_RDMC_ABORTED') throw cause;
    const reason = systemReason((cause instanceof Error && cause.cause) || cause);
    const message = `the server ${server} cannot be reached: ${reason}; is 'rdmc serve' running there?`;
    throw new CastError('ERR_RDMC_CAST_UNREACHABLE', message, { cause });
  }
}
