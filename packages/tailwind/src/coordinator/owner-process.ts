import type { Mesh } from '@rdmc/mesh';

/** One process of a member. Rights belong to it, and not to a later process with the same id. */
export interface OwnerProcess {
  readonly member: number;
  /** The mesh's; 0 with a fixed list of members. */
  readonly incarnation: number;
}

/** The process of a member that this member is connected with, or was last. */
export function processOf(
  { id, incarnation, peers }: Pick<Mesh, 'id' | 'incarnation' | 'peers'>,
  member: number,
): OwnerProcess {
  return { member, incarnation: member === id ? incarnation : (peers.get(member)?.incarnation ?? 0) };
}
