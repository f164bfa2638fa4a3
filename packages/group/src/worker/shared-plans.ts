import { Plans, type Topology } from './plans.js';

/**
 * The plans of all groups of a node. Groups of the same algorithm, number of members and rank have the same plans, and a node
 * with hundreds of groups has few such kinds: each kind has its plans once, while one of its groups is open.
 */
export class SharedPlans {
  readonly #kinds = new Map<string, Plans>();
  /** The open groups of each kind. */
  readonly #groups = new Map<Plans, number>();

  /** The plans of a group that opens. `neighbours`: as in `Plans`. */
  join(topology: Topology, neighbours: readonly number[]): Plans {
    const kind = kindOf(topology, neighbours);
    const plans = this.#kinds.get(kind) ?? new Plans(topology, neighbours);
    this.#kinds.set(kind, plans);
    this.#groups.set(plans, (this.#groups.get(plans) ?? 0) + 1);
    return plans;
  }

  /** A group that had joined has ended. */
  leave(plans: Plans): void {
    const left = this.#groups.get(plans)! - 1;
    this.#groups.set(plans, left);
    if (left > 0) return;
    this.#groups.delete(plans);
    for (const [kind, known] of this.#kinds) if (known === plans) this.#kinds.delete(kind);
  }
}

/** All that plans depend on. Racks may be strings with any characters. */
function kindOf({ algorithm, nodes, rank, racks }: Topology, neighbours: readonly number[]): string {
  return JSON.stringify([algorithm, nodes, rank, racks ?? null, neighbours]);
}
