import { errorTable, optionErrors, RdmcError, userKeyErrors } from '@rdmc/common';

export { AbortError } from '@rdmc/common';

/** Every code that a {@link VerbsError} or an error of the addon can carry. They are stable; messages are not. */
export const verbsErrors = errorTable({
  ...optionErrors,
  ...userKeyErrors,
  ERR_RDMC_PLATFORM: ['resource', 'RDMA devices need Linux on x86-64 or arm64', 'run it there'],
  ERR_RDMC_NATIVE_MISSING: [
    'resource',
    'there is no addon for this platform',
    'install the optional package that the message names, or run npx rdmc-verbs-build',
  ],
  ERR_RDMC_NATIVE_BROKEN: [
    'resource',
    'the addon is there and does not load',
    'the message has the reason; install it again, or run npx rdmc-verbs-build',
  ],
  ERR_RDMC_OLD_GLIBC: [
    'resource',
    'the addon needs a newer glibc',
    'use a newer system, or build the addon there: npx rdmc-verbs-build',
  ],
  ERR_RDMC_MUSL: [
    'resource',
    'the addon needs glibc, and this libc is another one, such as musl',
    'use an image with glibc, such as node:24-slim',
  ],
  ERR_RDMC_OLD_NODE: ['resource', 'this Node.js is too old', 'install Node.js 20.19 or newer'],
  ERR_RDMC_UNKNOWN_DEVICE: ['usage', 'no device has this name', 'use one that the message lists'],
  ERR_RDMC_UNKNOWN_PORT: ['usage', 'the RDMA device does not have this port', 'use one that it has'],
  ERR_RDMC_GID_INDEX: [
    'resource',
    'the port does not have a suitable address',
    'give its interface one, or choose another',
  ],
  ERR_RDMC_PATH_MTU: ['usage', 'the port does not carry packets of this size', 'use a smaller MTU'],
  ERR_RDMC_UNSUPPORTED: [
    'resource',
    'the device does not support this',
    'do not use it, or use another device',
  ],
  ERR_RDMC_WEAK_KEY: ['usage', 'the key has fewer than 16 bytes', 'make one: openssl rand -hex 32'],
  ERR_RDMC_KEY_REQUIRED: ['usage', 'an end is beyond loopback, and there is no key', 'give all the same key'],
  ERR_RDMC_IBVERBS_MISSING: ['resource', 'libibverbs is not installed', 'install it: the message says how'],
  ERR_RDMC_IBVERBS_TOO_OLD: ['resource', 'libibverbs lacks a function', 'install a newer rdma-core'],
  ERR_RDMC_IBVERBS_NOT_BUILT: [
    'resource',
    'the addon was built without RDMA devices',
    'install libibverbs-dev and build it again',
  ],
  ERR_RDMC_NO_DEVICE: ['resource', 'no RDMA device is usable', 'run `rdmc doctor`'],
  ERR_RDMC_PERMISSION: [
    'refused',
    'the system does not permit it to this user',
    'the message says which right is missing',
  ],
  ERR_RDMC_PORT_DOWN: ['resource', 'the port of the RDMA device is down', 'bring the link up'],
  ERR_RDMC_MEMLOCK: [
    'resource',
    'the memlock limit is too low',
    'raise it: the message says how, and to what',
  ],
  ERR_RDMC_OUT_OF_MEMORY: ['resource', 'not enough memory', 'free some, or raise the limit'],
  ERR_RDMC_DEVICE_LIMIT: [
    'resource',
    'a limit of the device is reached',
    'close some objects, or request less',
  ],
  ERR_RDMC_SYSTEM: ['resource', 'the kernel refused a call', 'see `errno` and `syscall`'],
  ERR_RDMC_DEVICE_REMOVED: ['resource', 'the device was removed', 'close it, and open another'],
  ERR_RDMC_DEVICE_FAILED: ['resource', 'the device reports an error of its own', 'see the log of the kernel'],
  ERR_RDMC_COMPLETION_QUEUE_FAILED: [
    'resource',
    'the device lost the completion queue',
    'create another one, and connect again',
  ],
  ERR_RDMC_DEVICE_CLOSED: ['closed', 'the device is closed', 'open it again'],
  ERR_RDMC_REGION_CLOSED: ['closed', 'the memory region is closed', 'allocate another one'],
  ERR_RDMC_CHANNEL_CLOSED: ['closed', 'the completion channel is closed', 'create another one'],
  ERR_RDMC_COMPLETION_QUEUE_CLOSED: ['closed', 'the completion queue is closed', 'create another one'],
  ERR_RDMC_PROTECTION_DOMAIN_CLOSED: ['closed', 'the protection domain is closed', 'create another one'],
  ERR_RDMC_QUEUE_PAIR_CLOSED: ['closed', 'the queue pair is closed', 'create another one, and connect it'],
  ERR_RDMC_REGION_BUSY: ['resource', 'requests use the region', 'wait for their completions'],
  ERR_RDMC_QUEUE_PAIR_BUSY: ['resource', 'the queue pair is in use', 'try again'],
  ERR_RDMC_PROTECTION_DOMAIN_BUSY: [
    'resource',
    'the protection domain is in use',
    'close its regions and queue pairs first',
  ],
  ERR_RDMC_COMPLETION_QUEUE_BUSY: [
    'resource',
    'the completion queue is in use',
    'close its queue pairs first',
  ],
  ERR_RDMC_CHANNEL_BUSY: ['resource', 'the channel is in use', 'close its completion queues first'],
  ERR_RDMC_SHARED_RECEIVE_QUEUE_BUSY: [
    'resource',
    'the shared receive queue is in use',
    'close its queue pairs first',
  ],
  ERR_RDMC_INVALID_ADDRESS: [
    'usage',
    'the address of a peer is not valid',
    'pass the address that the peer announced',
  ],
  ERR_RDMC_CONNECT_FAILED: [
    'peer-lost',
    'the peer does not answer',
    'check that it runs, and can be reached',
  ],
  ERR_RDMC_WRONG_KEY: ['refused', 'the keys differ, or only one end has one', 'give both the same key'],
  ERR_RDMC_PROTOCOL_VERSION: ['refused', 'the peer has another version', 'run the same version on both'],
  ERR_RDMC_QUEUE_FULL: ['resource', 'the queue is full', 'poll completions first, or make it deeper'],
  ERR_RDMC_QUEUE_PAIR_STATE: ['usage', 'the queue pair is not connected', 'connect it first'],
  ERR_RDMC_TOO_MANY_SGES: ['usage', 'the request has too many entries', 'see `attributes.maxSge`'],
  ERR_RDMC_INVALID_LKEY: [
    'usage',
    'an lkey is not that of a region',
    'use the lkey of a region of this domain',
  ],
  ERR_RDMC_OUT_OF_BOUNDS: ['usage', 'an entry reaches beyond its region', 'stay within its length'],
  ERR_RDMC_INLINE_TOO_LONG: ['usage', 'too many inline bytes', 'see `attributes.maxInlineBytes`'],
  ERR_RDMC_UNKNOWN_OPCODE: ['usage', 'the operation does not exist', 'use one of `Opcode`'],
  ERR_RDMC_MISALIGNED_ATOMIC: ['usage', 'atomics work on 8 aligned bytes', 'align the address'],
  ERR_RDMC_NOT_SHAREABLE: ['usage', 'peers cannot map registered memory', 'use memory of `allocate`'],
  ERR_RDMC_NO_HOST_ACCESS: [
    'usage',
    'the program cannot access this memory',
    'use it by work requests, or allocate it with host access',
  ],
  ERR_RDMC_ACCESS_DENIED: ['usage', 'the region does not allow this use', 'allocate it with that access'],
  ERR_RDMC_MESSAGE_TOO_LONG: ['usage', 'the message is too long', 'see `attributes.maxMessageBytes`'],
  ERR_RDMC_TOO_MANY_WAITS: [
    'usage',
    'a request waits for too many queue pairs, or for none',
    'see `Layout.MAX_WAITS`',
  ],
  ERR_RDMC_WAIT_UNKNOWN: [
    'usage',
    'a request waits for a queue pair that its device does not have',
    'wait for open queue pairs of the same device',
  ],
  ERR_RDMC_WAIT_BROKEN: [
    'resource',
    'a request waits for receives of a queue pair that has failed',
    'connect another queue pair',
  ],
  ERR_RDMC_WAIT_CIRCLE: [
    'usage',
    'a request waits for a receive that can only follow it',
    'post what causes the receive first, or to another queue pair',
  ],
  ERR_RDMC_POST_FAILED: [
    'resource',
    'the device refused a request',
    'keep regions open until their requests have completed',
  ],
});
/** The stable codes of this package's errors; `verbsErrors` has their meaning. */
export type VerbsErrorCode = keyof typeof verbsErrors;

/** Every error of this package: a stable `code`, and for a failed system call `errno` and `syscall`. */
export class VerbsError extends RdmcError<VerbsErrorCode> {
  override readonly name: string = 'VerbsError';
  /** Number of the failed system call's error; undefined if there was none. */
  readonly errno?: number;
  /** Name of the failed system call or library function. */
  readonly syscall?: string;

  constructor(
    code: VerbsErrorCode,
    message: string,
    details: { errno?: number | undefined; syscall?: string | undefined; cause?: unknown } = {},
  ) {
    super(code, message, details);
    if (details.errno !== undefined) this.errno = details.errno;
    if (details.syscall !== undefined) this.syscall = details.syscall;
  }
}

/** A work request that was refused at posting; no part of it was or will be executed. */
export class PostError extends VerbsError {
  override readonly name = 'PostError';
  constructor(
    code: VerbsErrorCode,
    message: string,
    /** Position of the first refused request in the batch; those before it were accepted. */
    readonly index: number,
    /** The device's reason, one of `PostResult`; 0 if it was refused before it reached the device. */
    readonly result = 0,
  ) {
    super(code, message);
  }
}
