import type { SlotTable } from '../cluster/slot-table.js';
import type { NodeAddress, NodeView, SlotRange } from '../commands/node-view.js';
import { Monitor, type MonitorOptions } from '../monitor/monitor.js';
import type { ClientSet } from '../server/client-set.js';

export interface ViewOptions {
  readonly member: number;
  readonly table: SlotTable;
  readonly clients: Pick<ClientSet, 'size' | 'describe'>;
  /** Where clients connect. */
  readonly port: number;
  readonly password: string | undefined;
  /** All servers of the cluster. */
  readonly nodes: () => NodeAddress[];
  readonly monitor?: MonitorOptions | undefined;
  /** Ends the server; undefined: clients cannot. */
  readonly onShutdown?: (() => void) | undefined;
}

/** The facts about this server in replies to clients. */
export class View implements NodeView {
  readonly startedAt = Date.now();
  commandsProcessed = 0;
  readonly monitor: Monitor;

  constructor(private readonly options: ViewOptions) {
    this.monitor = new Monitor(options.monitor);
  }

  shutdown(): boolean {
    const { onShutdown } = this.options;
    // Behind the end of this turn, at which the replies before leave.
    if (onShutdown) setImmediate(onShutdown);
    return onShutdown !== undefined;
  }

  get member(): number {
    return this.options.member;
  }

  get password(): string | undefined {
    return this.options.password;
  }

  get port(): number {
    return this.options.port;
  }

  get clients(): number {
    return this.options.clients.size;
  }

  get epoch(): number {
    return this.options.table.epoch;
  }

  nodes(): NodeAddress[] {
    return this.options.nodes();
  }

  ranges(): SlotRange[] {
    return [...this.options.table.ranges];
  }

  isOwn(slot: number): boolean {
    return this.options.table.owner(slot) === this.options.member;
  }

  clientList(): string[] {
    return this.options.clients.describe();
  }
}
