import { anySignal } from '@rdmc/common';
import type { DataPlane } from '@rdmc/dataplane';
import type { Mesh } from '@rdmc/mesh';

/** The two operations, when both have started. */
export interface Beginnings {
  readonly mesh: Promise<Mesh>;
  readonly plane: Promise<DataPlane>;
}

/**
 * Runs two operations of which neither is useful without the other: the first failure, or the caller's signal, aborts
 * both. Rejects with that failure when both are closed.
 */
export async function together(
  signal: AbortSignal | undefined,
  begin: (ended: AbortSignal) => Beginnings,
): Promise<{ mesh: Mesh; plane: DataPlane }> {
  const ended = new AbortController();
  let cause: unknown;
  const failed = (error: unknown): void => {
    cause ??= error;
    ended.abort(error);
  };
  const { mesh, plane } = begin(signal ? anySignal(signal, ended.signal) : ended.signal);
  mesh.catch(failed);
  plane.catch(failed);
  const [joined, started] = await Promise.allSettled([mesh, plane]);
  if (joined.status === 'fulfilled' && started.status === 'fulfilled') {
    return { mesh: joined.value, plane: started.value };
  }
  if (joined.status === 'fulfilled') await joined.value.close();
  if (started.status === 'fulfilled') await started.value.close();
  // The caller's signal aborts both at once. The mesh's error names the interrupted operation.
  throw signal?.aborted && joined.status === 'rejected' ? joined.reason : cause;
}
