import { Buffer } from 'node:buffer';
import { RdmcError, within } from '@rdmc/common';
import { type ConnectOptions, connect, notWithin, unreachable } from '../client/connect.js';
import type { Reply } from '../client/reply-reader.js';
import { ADMIN_COMMAND } from '../commands/admin.js';
import { codeOf, KvError, type KvErrorCode, kvErrors, messageOf } from '../errors.js';
import { DEFAULT_ANSWER_SECONDS, ORDER_ANSWER_MS } from '../limits.js';
import type { Endpoint } from '../values.js';
import { type ClientTlsFlags, clientTls } from './tls-options.js';

/** Where `kv admin` connects. */
export interface AdminFlags extends ClientTlsFlags {
  readonly connect: Endpoint[];
  /** How long a server may take to accept the connection, and to answer a question (default 20). */
  readonly answerSeconds?: number;
  readonly json?: boolean;
}

/** They change nothing, and the asked server has the answer soon. Others are orders: they may wait for a coordinator. */
const QUESTIONS: readonly (string | undefined)[] = ['STATUS', 'MEMBERS'];
/** The server ends, or is not there: another one may answer. */
const AWAY: readonly string[] = [
  'ERR_RDMC_KV_UNREACHABLE',
  'ERR_RDMC_KV_MEMBER_LOST',
  'ERR_RDMC_KV_CLOSED',
  'ERR_RDMC_MESH_CLOSED',
  'ERR_RDMC_MESH_EVICTED',
  'ERR_RDMC_REPLACED',
];

/**
 * Asks the first server of the list that answers. An order may reach several: each may be repeated. Resolves with the JSON of the
 * answer.
 * @throws KvError ERR_RDMC_KV_UNREACHABLE: none answers; the error that a server answered
 */
export async function askCluster(flags: AdminFlags, words: readonly string[]): Promise<unknown> {
  const options = accessOptions(flags);
  const failures: unknown[] = [];
  for (const endpoint of flags.connect) {
    try {
      return await askServer(endpoint, options, words);
    } catch (error) {
      if (!AWAY.includes(codeOf(error))) throw error;
      failures.push(error);
    }
  }
  if (failures.length === 1) throw failures[0];
  throw new KvError('ERR_RDMC_KV_UNREACHABLE', failures.map(messageOf).join('; '));
}

/** How the commands of `kv admin` connect to each server. */
export function accessOptions(flags: AdminFlags): ConnectOptions & { readonly timeoutMs: number } {
  const { answerSeconds = DEFAULT_ANSWER_SECONDS } = flags;
  return {
    password: process.env.RDMC_KV_PASSWORD,
    tls: clientTls(flags),
    timeoutMs: answerSeconds * 1000,
  };
}

async function askServer(
  endpoint: Endpoint,
  options: ConnectOptions & { readonly timeoutMs: number },
  words: readonly string[],
): Promise<unknown> {
  const connection = await connect(endpoint, options);
  const timeoutMs = options.timeoutMs + (QUESTIONS.includes(words[0]) ? 0 : ORDER_ANSWER_MS);
  try {
    const answer = within(connection.ask(ADMIN_COMMAND, ...words), { timeoutMs, late: notWithin });
    return readReply(
      await answer.catch((error: unknown) => {
        throw unreachable(endpoint, error);
      }),
    );
  } finally {
    connection.close();
  }
}

function readReply(reply: Reply): unknown {
  if (reply instanceof Error) throw errorOf(reply.message);
  return JSON.parse(Buffer.from(String(reply), 'latin1').toString('utf8'));
}

/** The error of a reply, with its code. */
function errorOf(reply: string): RdmcError {
  if (reply.startsWith('NOAUTH'))
    return new KvError('ERR_RDMC_KV_UNAUTHENTICATED', 'the server needs a password: set RDMC_KV_PASSWORD');
  const [, code, message] = /^[A-Z]+ (ERR_RDMC_[A-Z0-9_]+) (.*)$/s.exec(reply) ?? [];
  if (code !== undefined) return errorWith(code, message!);
  return new KvError('ERR_RDMC_KV_PROTOCOL', `the server answered '${reply}': it may have another version`);
}

/** An error that came without its class: codes of other packages, and of other versions, are kept too. */
export function errorWith(code: string, message: string): RdmcError {
  return Object.hasOwn(kvErrors, code)
    ? new KvError(code as KvErrorCode, message)
    : new RdmcError(code, message);
}
