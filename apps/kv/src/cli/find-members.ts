import { pause } from '@rdmc/common';
import type { ClusterMembers } from '../admin/members.js';
import { codeOf, KvError } from '../errors.js';

/** How long a server may take to answer one that knows the members: a server that waits for it answers after it has joined. */
export const ANSWER_SECONDS = 5;
export const RETRY_MS = 500;
/** No process listens there, it ends, or it does not answer. */
const SILENCE: readonly string[] = [
  'ERR_RDMC_KV_UNREACHABLE',
  'ERR_RDMC_KV_MEMBER_LOST',
  'ERR_RDMC_KV_CLOSED',
];

type Ask = () => Promise<ClusterMembers>;

export interface FindOptions {
  /** Each asks one server. */
  readonly asks: readonly Ask[];
  /** The members when this server was last admitted; undefined: it was not yet. */
  readonly kept: ClusterMembers | undefined;
  /** How long servers that do not answer are asked again, where none were kept. */
  readonly waitMs: number;
}

/**
 * The members of a cluster: as the first server says that answers. Where none does, they are those that were kept: after the end of
 * all members, listed servers may wait for this one.
 * @throws KvError ERR_RDMC_KV_UNREACHABLE: no server answers, and none were kept; the error that a server answered
 */
export async function findMembers({ asks, kept, waitMs }: FindOptions): Promise<ClusterMembers> {
  const over = new AbortController();
  let last: unknown = new KvError('ERR_RDMC_KV_UNREACHABLE', `no server answered within ${waitMs} ms`);
  const attempt = async (ask: Ask): Promise<ClusterMembers | undefined> => {
    do {
      try {
        return await ask();
      } catch (error) {
        if (!SILENCE.includes(codeOf(error))) throw error;
        last = error;
      }
      if (kept !== undefined) return undefined;
      await pause(RETRY_MS, over.signal);
    } while (!over.signal.aborted);
    return undefined;
  };
  try {
    const late = pause(waitMs, over.signal).then(() => undefined);
    const found = (await Promise.race([firstOf(asks.map(attempt)), late])) ?? kept;
    if (found !== undefined) return found;
  } finally {
    over.abort();
  }
  throw last;
}

/** The first result; undefined: all have ended without one. */
function firstOf<T>(attempts: readonly Promise<T | undefined>[]): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    for (const each of attempts) {
      each.then((result) => {
        if (result !== undefined) resolve(result);
      }, reject);
    }
    void Promise.allSettled(attempts).then(() => resolve(undefined));
  });
}
