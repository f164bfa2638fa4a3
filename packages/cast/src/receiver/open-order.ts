import type { MessagePort } from 'node:worker_threads';
import type { Invitation } from '../control/frames.js';
import type { CheckedReceiveOptions } from '../receive-options.js';
import type { OpenOrder } from '../writer/orders.js';

/** What the writer's thread must know of a cast. @param sinks undefined where files go to a directory */
export function openOrder(
  invitation: Invitation,
  { directory, fsync, resume, resumeLimit }: CheckedReceiveOptions,
  sinks: MessagePort | undefined,
): OpenOrder {
  const { castId, comparison, checksum, checksumKey, encrypted, contentBytes } = invitation;
  const neededBytes = comparison ? 0 : contentBytes;
  return {
    ...{ directory, sinks, castId, fsync },
    policy: comparison,
    checksum: { kind: checksum, key: Buffer.from(checksumKey, 'hex') },
    resume: resume ? { limit: resumeLimit, authenticated: encrypted, neededBytes } : undefined,
  };
}
