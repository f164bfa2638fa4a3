import { setTimeout as delay } from 'node:timers/promises';
import { FREE_ATTEMPTS, FREE_RETRY_MS } from '../constants.js';
import { codeOf, messageOf } from '../errors.js';
import { askFree } from '../rpc/backup-client.js';
import type { SegmentRef } from '../segment-key.js';
import type { CheckedLogOptions } from './log-options.js';

/** Has backups free stale replicas, in the background. Stops when a backup has left or failed. */
export class StaleReplicas {
  constructor(
    private readonly options: Pick<CheckedLogOptions, 'mesh' | 'logger'>,
    /** Aborted when the log ends. */
    private readonly ended: AbortSignal,
  ) {}

  /** @param isWanted whether the backup has, or is about to have, a replica of the segment that counts */
  free(member: number, ref: SegmentRef, isWanted: () => boolean = () => false): void {
    void this.#free(member, ref, isWanted);
  }

  async #free(member: number, ref: SegmentRef, isWanted: () => boolean): Promise<void> {
    const { ended } = this;
    const { mesh, logger } = this.options;
    for (let attempt = 1; attempt <= FREE_ATTEMPTS; attempt += 1) {
      if (ended.aborted || isWanted() || mesh.peers.get(member)?.state !== 'connected') return;
      try {
        await askFree(mesh, member, ref);
        return;
      } catch (error) {
        if (codeOf(error) === 'ERR_RDMC_LOG_FENCED') return;
        const segmentId = String(ref.segmentId);
        logger?.warn?.({ member, segmentId, reason: messageOf(error) }, 'a replica was not freed');
      }
      await delay(FREE_RETRY_MS, undefined, { signal: ended }).catch(() => {});
    }
  }
}
