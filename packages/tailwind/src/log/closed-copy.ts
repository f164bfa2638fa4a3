import { Deferred, within } from '@rdmc/common';
import type { Certificate } from '../format/scan.js';
import type { WorkerLink } from '../worker-link.js';
import type { LogEnvironment } from './log-environment.js';
import type { Replica } from './replica-grants.js';
import type { ReplicatedSegment } from './replicated-segment.js';
import { tracedSegment } from './traced-segment.js';

/**
 * Makes a granted buffer a closed replica of a closed segment: all of its bytes in one write, then commit and close in
 * one request. With two requests, a recovery between them would take the open copy for the log's head.
 * @throws the backup's error, the reason of the loss of the connection, or the reason for which the log ended
 */
export async function copyClosed(
  { link, ended }: Pick<LogEnvironment, 'link' | 'ended'>,
  { identity, memory }: ReplicatedSegment,
  epoch: number,
  replica: Replica,
  certificate: Certificate,
): Promise<void> {
  const channel = link.number();
  try {
    if (certificate.byteLength > 0)
      await within(copy(link, channel, { identity, memory }, replica, certificate.byteLength), {
        signal: ended,
      });
    await replica.connection.restore(identity, epoch, certificate);
    replica.state = 'closed';
  } finally {
    await link.endChannel(channel);
  }
}

async function copy(
  link: WorkerLink,
  channel: number,
  { identity, memory }: Pick<ReplicatedSegment, 'identity' | 'memory'>,
  { setup }: Replica,
  byteLength: number,
): Promise<void> {
  const copied = new Deferred<void>();
  await link.openChannel(
    { channel, ...memory, targets: [setup], traced: tracedSegment(identity) },
    {
      acknowledged: () => copied.resolve(),
      lost: (_, reason) => copied.reject(new Error(reason)),
      caughtUp: () => {},
    },
  );
  link.append(channel, 1, 0, byteLength);
  await copied.promise;
}
