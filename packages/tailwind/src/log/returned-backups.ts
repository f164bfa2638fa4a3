import { setTimeout as delay } from 'node:timers/promises';
import type { MemberEvent } from '@rdmc/mesh';
import { FREE_RETRY_MS } from '../constants.js';
import { codeOf, messageOf } from '../errors.js';
import { askReplicas } from '../rpc/backup-client.js';
import type { LogEnvironment } from './log-environment.js';
import type { SegmentTable } from './segment-table.js';

/** Another attempt would get the same answer. */
const FINAL_REFUSALS = ['ERR_RDMC_LOG_EXISTS', 'ERR_RDMC_NOT_OWNER', 'ERR_RDMC_PROTOCOL'];

/**
 * Backups that were lost and are back, as the same process or as another one with its files. The log claims itself there
 * again, and has the replicas freed that were replaced meanwhile. A segment that still misses replicas keeps those of the
 * returned backup until it is whole. A backup that is not in the list any more frees its replicas, too: nobody else would
 * have it do that before the log has ended.
 */
export class ReturnedBackups {
  readonly #lost = new Set<number>();
  /** Counts the events of each member: what was begun for an earlier one ends. */
  readonly #events = new Map<number, number>();

  constructor(
    private readonly environment: LogEnvironment,
    private readonly segments: SegmentTable,
    private readonly session: string,
  ) {}

  /** Takes the events of the mesh, in order. */
  follow({ type, member }: MemberEvent): void {
    const event = (this.#events.get(member) ?? 0) + 1;
    this.#events.set(member, event);
    if (type !== 'joined') this.#lost.add(member);
    else if (this.#lost.delete(member) && this.#isBackup(member)) {
      void this.#settle(member, () => this.#events.get(member) === event);
    }
  }

  /** Whether it may have replicas, or may get some while the coordinator is away and cannot confirm a first claim. */
  #isBackup(member: number): boolean {
    const { connections, options } = this.environment;
    return connections.hasUsed(member) || options.backups().includes(member);
  }

  /** Repeats its requests until they are answered: the backup asks the coordinator, which may be away. */
  async #settle(member: number, isCurrent: () => boolean): Promise<void> {
    const { options, ended, fail } = this.environment;
    const { mesh, logId, logger } = options;
    while (!ended.aborted && isCurrent()) {
      try {
        const found = await askReplicas(mesh, member, logId, this.session);
        if (!ended.aborted && isCurrent()) for (const segmentId of found) this.#release(member, segmentId);
        return;
      } catch (error) {
        const code = codeOf(error);
        if (code === 'ERR_RDMC_LOG_FENCED') fail(error as Error);
        logger?.debug?.(
          { member, code, reason: messageOf(error) },
          'a backup that is back did not take the log',
        );
        if (FINAL_REFUSALS.includes(code ?? '')) return;
      }
      await delay(FREE_RETRY_MS, undefined, { signal: ended }).catch(() => {});
    }
  }

  #release(member: number, segmentId: bigint): void {
    const { options, staleReplicas } = this.environment;
    const segment = this.segments.get(segmentId);
    if (segment) segment.replicas.returned(member);
    else staleReplicas.free(member, { logId: options.logId, segmentId });
  }
}
