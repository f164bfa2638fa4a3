/** A command that fails: the text is the error reply, its first word the kind. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
}

export const SYNTAX = 'ERR syntax error';
export const WRONG_TYPE = 'WRONGTYPE Operation against a key holding the wrong kind of value';
export const CROSS_SLOT = "CROSSSLOT Keys in request don't hash to the same slot";
export const NOT_AN_INTEGER = 'ERR value is not an integer or out of range';

/**
 * An error of the log in the form of Redis: the kind, then the stable code.
 */
export function replyOf(code: string, message: string): string {
  return `${KINDS[code] ?? 'ERR'} ${code} ${message}`;
}

const KINDS: Record<string, string> = {
  ERR_RDMC_LOG_FULL: 'OOM',
  ERR_RDMC_TOO_FEW_BACKUPS: 'NOREPLICAS',
  ERR_RDMC_LOG_BACKPRESSURE: 'TRYAGAIN',
  ERR_RDMC_LOG_FENCED: 'CLUSTERDOWN',
  ERR_RDMC_LOG_CLOSED: 'CLUSTERDOWN',
  ERR_RDMC_LEASE_EXPIRED: 'CLUSTERDOWN',
  ERR_RDMC_KV_SLOT_UNAVAILABLE: 'CLUSTERDOWN',
  ERR_RDMC_KV_OUTCOME_UNKNOWN: 'UNKNOWN',
  ERR_RDMC_KV_SLOTS_MOVE: 'TRYAGAIN',
};

export const OUTCOME_UNKNOWN = replyOf(
  'ERR_RDMC_KV_OUTCOME_UNKNOWN',
  'the server of this key was lost before it answered: the command was done, or not',
);
export const LEASE_EXPIRED = replyOf(
  'ERR_RDMC_LEASE_EXPIRED',
  'this server does not have a lease now: another one may own its keys',
);
export const SLOT_UNAVAILABLE = replyOf(
  'ERR_RDMC_KV_SLOT_UNAVAILABLE',
  'no server serves this key now; its recovery did not end in time',
);
export const SLOTS_MOVE = replyOf(
  'ERR_RDMC_KV_SLOTS_MOVE',
  'slots moved to other servers meanwhile: the command may be done in part; repeat it',
);
export const LINK_FULL = replyOf(
  'ERR_RDMC_LOG_BACKPRESSURE',
  'too many bytes wait for the server of this key; nothing was done',
);
