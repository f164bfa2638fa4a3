import type { MemoryRegion } from '@rdmc/verbs';
import type { GroupEnvironment } from './environment.js';

/** Memory from this length on is faulted in while it is filled. Less is there at once, or soon. */
const POPULATED_LATE_FROM = 16 * 1_048_576;

/**
 * Memory into which messages are received. Long memory is handed out before its pages are there: a thread of this process
 * faults them in from the end on, and the device, from the beginning on, those that it reaches first. So the processors
 * share that work, and the first message does not wait for it.
 * @param failed called when memory that was handed out cannot be faulted in
 */
export async function receiveMemory(
  environment: Pick<GroupEnvironment, 'allocate' | 'allocateUnpopulated'>,
  byteLength: number,
  signal: AbortSignal | undefined,
  failed: (error: unknown) => void,
): Promise<MemoryRegion> {
  if (byteLength < POPULATED_LATE_FROM) return environment.allocate(byteLength, signal ? { signal } : {});
  const region = await environment.allocateUnpopulated(byteLength, signal);
  region.populate().catch((error: unknown) => {
    if (!region.closed) failed(error);
  });
  return region;
}
