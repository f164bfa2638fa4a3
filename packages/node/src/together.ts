import { anySignal } from '@rdmc/common';
import type { DataPlane } from '@rdmc/dataplane';
import type { Mesh } from '@rdmc/mesh';

/** Both under way. */
export interface Beginnings {
  readonly mesh: Promise<Mesh>;
  readonly plane: Promise<DataPlane>;
}

/**
 * Two beginnings, each worth nothing without the other: the first failure, or the caller's signal, ends both. Rejects with
 * that failure when nothing is left open.
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
  // The caller's abort reaches both at once: the mesh's error says what it interrupted.
  throw signal?.aborted && joined.status === 'rejected' ? joined.reason : cause;
}
