import { codeOf as codeOfThrown, errorTable, RdmcError } from '@rdmc/common';

export { messageOf } from '@rdmc/common';

/** Every code a {@link KvError} can carry, and those of error replies. They are stable; messages are not. */
export const kvErrors = errorTable({
  ERR_RDMC_KV_INVALID_OPTION: ['usage', 'an option is wrong, or unknown', 'the message names it'],
  ERR_RDMC_KV_INVALID_KEY: ['usage', 'the key of the cluster is not valid', 'the message says why'],
  ERR_RDMC_KV_UNPROTECTED: [
    'usage',
    'no password beyond loopback, an empty one, or members without a key',
    'give a key and a password, or --no-protected-mode',
  ],
  ERR_RDMC_KV_INVALID_TLS: [
    'usage',
    'the certificate of TLS, or its key, cannot be used',
    'the message says which file, and why',
  ],
  ERR_RDMC_KV_LISTEN_FAILED: [
    'resource',
    'the address for clients is not available',
    'choose another address or port, or end the process that uses it',
  ],
  ERR_RDMC_KV_PROTOCOL: ['refused', 'the other end violated the protocol', 'check the client'],
  ERR_RDMC_KV_MEMBER_LOST: ['peer-lost', 'a connection with a member ended', 'try again'],
  ERR_RDMC_KV_JOIN_TIMEOUT: [
    'peer-lost',
    'members did not come in time',
    'start them; the message names them',
  ],
  ERR_RDMC_KV_FOREIGN_STATE: [
    'refused',
    'the coordinator has the state of another cluster',
    'start it with the directory of this one',
  ],
  ERR_RDMC_LOG_FENCED: [
    'refused',
    'the server was declared dead, and others have its keys',
    'start it again',
  ],
  ERR_RDMC_KV_TAKEOVER_FAILED: ['peer-lost', 'a takeover failed', 'it is tried again; see its cause'],
  ERR_RDMC_KV_HANDOVER_FAILED: [
    'peer-lost',
    'a hand-over of slots failed, and their server has them as before',
    'it is tried again; see its cause',
  ],
  ERR_RDMC_KV_SERVER_FULL: [
    'resource',
    'a server does not have room for more slots',
    'add a server, or start servers with more --segments',
  ],
  ERR_RDMC_KV_SERVER_NEEDED: [
    'refused',
    'the cluster needs the server',
    'the message says why: add a server, or drain it first',
  ],
  ERR_RDMC_KV_LEVEL: [
    'refused',
    'a process of a release that the cluster cannot have beside its own',
    'the message says which release to start, or to run kv admin finalize before',
  ],
  ERR_RDMC_KV_SEGMENT_SIZE: [
    'refused',
    'a server has segments of another size than the cluster',
    'start it with the --segment-mib that the message names',
  ],
  ERR_RDMC_KV_REPLICAS: [
    'refused',
    'a server has another number of backups than the cluster',
    'start it with the --replicas that the message names',
  ],
  ERR_RDMC_KV_NOT_FINALIZED: [
    'refused',
    'not every member speaks the new level',
    'start the named members with the new release, or remove them, and finalize again',
  ],
  ERR_RDMC_KV_MINORITY: [
    'resource',
    'the coordinator misses more servers than anybody reaches',
    'start them, or join the network again; nothing is taken over before',
  ],
  ERR_RDMC_KV_PROCESS_DIED: ['peer-lost', 'a process of the demo ended', 'read its last lines'],
  ERR_RDMC_KV_INTERRUPTED: [
    'aborted',
    'a signal ended `kv demo` or `kv bench`',
    'nothing: its processes are ended, and its files are removed',
  ],
  ERR_RDMC_KV_DATA_LOST: ['internal', 'the demo lost acknowledged writes', 'please report it'],
  ERR_RDMC_KV_NOTHING_TO_SALVAGE: ['usage', 'the directories do not have files of a cluster', 'give others'],
  ERR_RDMC_KV_FILES_MISSING: [
    'resource',
    'files of some members are missing',
    'give their directories, or accept the loss',
  ],
  ERR_RDMC_KV_NOT_A_CLUSTER: ['usage', 'the server runs alone', 'give the address of a server of a cluster'],
  ERR_RDMC_KV_UNREACHABLE: [
    'peer-lost',
    'no server answers at the address for clients',
    'give the address of a server that runs, and the same TLS options as its clients',
  ],
  ERR_RDMC_KV_UNAUTHENTICATED: [
    'refused',
    'the server needs a password, or has another one',
    'set RDMC_KV_PASSWORD',
  ],
  ERR_RDMC_KV_SNAPSHOT_EXISTS: [
    'usage',
    'the directory of a new snapshot is not empty',
    'give another directory',
  ],
  ERR_RDMC_KV_SNAPSHOT_INCOMPLETE: [
    'refused',
    'a snapshot lacks files or slots, or slots have no server',
    'give a whole snapshot; the message says what is missing',
  ],
  ERR_RDMC_KV_SNAPSHOT_DAMAGED: [
    'refused',
    'a file of a snapshot was changed or cut off',
    'give another copy; nothing was written',
  ],
  ERR_RDMC_KV_SNAPSHOT_FOREIGN: [
    'refused',
    'a file is not of this snapshot, or of another version',
    'use the version that wrote it',
  ],
  ERR_RDMC_KV_NOT_EMPTY: [
    'usage',
    'a snapshot is restored into a cluster with keys',
    'use an empty cluster, or FLUSHALL',
  ],
  ERR_RDMC_KV_RESTORE_REFUSED: [
    'resource',
    'a server refused a write of a restore',
    'see the message; FLUSHALL, and restore again',
  ],
  ERR_RDMC_KV_CLOSED: ['closed', 'the server is closed', 'connect to another one'],
  ERR_RDMC_ENTRY_TOO_LARGE: ['usage', 'an append is over the limit', 'write less with one command'],
  ERR_RDMC_KV_SLOT_UNAVAILABLE: ['resource', 'no server has the slot of the key', 'try again'],
  ERR_RDMC_KV_SLOTS_MOVE: [
    'resource',
    'slots moved to other servers while a command on all keys ran',
    'repeat the command',
  ],
  ERR_RDMC_KV_OUTCOME_UNKNOWN: [
    'peer-lost',
    'the server of the key was lost before it answered',
    'read the key to see whether it was done',
  ],
  ERR_RDMC_KV_UNKNOWN: ['internal', 'an error without a code', 'see the message'],
});
/** The stable codes of this package's errors; `kvErrors` has their meaning. */
export type KvErrorCode = keyof typeof kvErrors;

/** The class of this package's errors. `code` distinguishes them. */
export class KvError extends RdmcError<KvErrorCode> {
  override readonly name = 'KvError';
}

/** The code of anything thrown, here or at another member. */
export function codeOf(error: unknown): string {
  return codeOfThrown(error) ?? 'ERR_RDMC_KV_UNKNOWN';
}
