import { KvError } from '../errors.js';

/** The server goes on: it has keys that this coordinator does not know of. */
export function foreignState(server: number, logId?: string): KvError {
  const number = logId === undefined ? '' : ` (number ${logId})`;
  return new KvError(
    'ERR_RDMC_KV_FOREIGN_STATE',
    `this coordinator's state does not have the log of server ${server}${number}, which runs: start the ` +
      'coordinator with the directory, or the etcd prefix, of this cluster',
  );
}

/** The server ends: others have its keys, or will. */
export function declaredDead(server: number, logId: string): KvError {
  return new KvError(
    'ERR_RDMC_LOG_FENCED',
    `the log of server ${server} (number ${logId}) was declared dead while the server was not reached: others have its ` +
      'keys. Start it again',
  );
}

/** The server asks again. */
export function underTakeover(server: number, logId: string): KvError {
  return new KvError(
    'ERR_RDMC_KV_TAKEOVER_FAILED',
    `the log of server ${server} (number ${logId}) is being taken over: unless that fails at once, the server must end`,
  );
}

/** Reported by the coordinator; nothing ends. */
export function minority(names: string): KvError {
  return new KvError(
    'ERR_RDMC_KV_MINORITY',
    `no server reaches ${names}: these are more than the others, so nothing is taken over before some of them are back`,
  );
}
