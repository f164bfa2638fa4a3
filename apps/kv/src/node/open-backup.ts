import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { Backup } from '@rdmc/tailwind/backup';
import type { CoordinatorClient } from '@rdmc/tailwind/coordinator';
import { DEFAULT_SEGMENT_BYTES } from '../limits.js';
import { askSurely } from './ask-surely.js';
import type { CloseStack } from './close-stack.js';
import type { ServerOptions } from './cluster-options.js';
import type { LogsNode } from './join-cluster.js';

const DEFAULT_BUFFERS = 24;
/** By the package's name: a thread loads the built module, whatever loaded this one. */
const DIVIDER = pathToFileURL(createRequire(import.meta.url).resolve('@rdmc/kv/slot-divider'));

/**
 * Opens the backup of other servers' logs, and serves it; undefined without replicas.
 * @param level of the cluster
 */
export async function openBackup(
  options: ServerOptions,
  { logs, protectionDomain }: LogsNode,
  coordinator: CoordinatorClient,
  level: number,
  closers: CloseStack,
): Promise<Backup | undefined> {
  const { directory, segmentBytes = DEFAULT_SEGMENT_BYTES, buffers = DEFAULT_BUFFERS } = options;
  const { replicas, powerHoldSeconds } = options;
  if (replicas === 0) return undefined;
  const clusterId = await askSurely(() => coordinator.clusterId());
  const backup = await Backup.open({
    protectionDomain,
    directory,
    clusterId,
    buffers,
    powerHoldSeconds,
    level,
    segmentBytes,
  });
  const service = logs.serve(backup, { coordinator, divider: DIVIDER });
  closers.add(async () => {
    await service.close();
    await backup.close();
  });
  return backup;
}
