import { Buffer } from 'node:buffer';
import { connect } from '../client/connect.js';
import type { Reply } from '../client/reply-reader.js';
import { ADMIN_COMMAND } from '../commands/admin.js';
import { KvError, type KvErrorCode, kvErrors } from '../errors.js';
import type { Endpoint } from '../values.js';
import { type ClientTlsFlags, clientTls } from './tls-options.js';

/** Where `kv admin` connects. */
export interface AdminFlags extends ClientTlsFlags {
  readonly connect: Endpoint[];
  readonly json?: boolean;
}

/**
 * Asks the first server of the list that can be reached. Resolves with the JSON of its answer.
 * @throws KvError ERR_RDMC_KV_UNREACHABLE: none can be; what the server answered
 */
export async function askCluster(flags: AdminFlags, words: readonly string[]): Promise<unknown> {
  const options = { password: process.env.RDMC_KV_PASSWORD, tls: clientTls(flags) };
  let unreachable: unknown;
  for (const endpoint of flags.connect) {
    try {
      const connection = await connect(endpoint, options);
      try {
        return readReply(await connection.ask(ADMIN_COMMAND, ...words));
      } finally {
        connection.close();
      }
    } catch (error) {
      if (!(error instanceof KvError) || error.code !== 'ERR_RDMC_KV_UNREACHABLE') throw error;
      unreachable = error;
    }
  }
  throw unreachable;
}

function readReply(reply: Reply): unknown {
  if (reply instanceof Error) throw errorOf(reply.message);
  return JSON.parse(Buffer.from(String(reply), 'latin1').toString('utf8'));
}

/** The error of a reply: with its code, where it has one of this package. */
function errorOf(reply: string): KvError {
  if (reply.startsWith('NOAUTH'))
    return new KvError('ERR_RDMC_KV_UNAUTHENTICATED', 'the server needs a password: set RDMC_KV_PASSWORD');
  const [, code = '', message] = /^[A-Z]+ (ERR_RDMC_[A-Z_]+) (.*)$/s.exec(reply) ?? [];
  if (Object.hasOwn(kvErrors, code)) return new KvError(code as KvErrorCode, message!);
  return new KvError('ERR_RDMC_KV_PROTOCOL', `the server answered '${reply}': it may have another version`);
}
