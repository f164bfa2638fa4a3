import type { PendingConnection } from './pending-connection.js';

/** What one source has here, each set in the order of arrival. */
export class SourceQuota {
  readonly all = new Set<PendingConnection>();
  readonly silent = new Set<PendingConnection>();

  get size(): number {
    return this.all.size;
  }

  /**
   * The oldest that has been silent for a tick, else the oldest. A connection that has just arrived is silent as well:
   * among connections that said a few bytes, a rule without the tick would end every newcomer for the next one.
   */
  get leaving(): PendingConnection | undefined {
    const [silent] = this.silent;
    if (silent !== undefined && silent.ticks > 0) return silent;
    const [oldest] = this.all;
    return oldest;
  }

  add(connection: PendingConnection): void {
    this.all.add(connection);
    this.silent.add(connection);
  }

  delete(connection: PendingConnection): boolean {
    this.silent.delete(connection);
    return this.all.delete(connection);
  }
}
