import type { SlotTable } from '../cluster/slot-table.js';
import type { NodeAddress, NodeView, SlotRange } from '../commands/node-view.js';
import type { RespServer } from '../server/resp-server.js';

/** What commands are told of this server. */
export class View implements NodeView {
  readonly startedAt = Date.now();
  commandsProcessed = 0;
  server: RespServer | undefined;
  addresses: () => NodeAddress[] = () => [];

  constructor(
    readonly member: number,
    private readonly table: SlotTable,
    readonly password: string | undefined,
  ) {}

  get port(): number {
    return this.server?.port ?? 0;
  }

  get clients(): number {
    return this.server?.clients ?? 0;
  }

  get epoch(): number {
    return this.table.epoch;
  }

  nodes(): NodeAddress[] {
    return this.addresses();
  }

  ranges(): SlotRange[] {
    return [...this.table.ranges];
  }

  isOwn(slot: number): boolean {
    return this.table.owner(slot) === this.member;
  }

  clientList(): string[] {
    return this.server?.clientList() ?? [];
  }
}
