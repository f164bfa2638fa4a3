import type { MessagePort } from 'node:worker_threads';
import type { Invitation } from '../control/frames.js';
import type { CheckedReceiveOptions } from '../receive-options.js';
import type { OpenOrder } from '../writer/orders.js';

/** What takes the files in the place of a directory. */
interface Takers {
  readonly sinks?: MessagePort | undefined;
  readonly memory?: MessagePort | undefined;
}

/** What the writer's thread must know of a cast. */
export function openOrder(
  invitation: Invitation,
  { directory, sharedMemory, parts, fsync, resume, resumeLimit, archive }: CheckedReceiveOptions,
  { sinks, memory }: Takers,
): OpenOrder {
  const to = memory ?? sharedMemory;
  const { castId, comparison, checksum, checksumKey, encrypted, contentBytes } = invitation;
  const neededBytes = comparison ? 0 : contentBytes;
  return {
    ...{ directory, sinks, castId, fsync, archive },
    memory: to === undefined ? undefined : { to, parts },
    policy: comparison,
    checksum: { kind: checksum, key: Buffer.from(checksumKey, 'hex') },
    resume: resume ? { limit: resumeLimit, authenticated: encrypted, neededBytes } : undefined,
  };
}
