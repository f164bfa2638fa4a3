import { ScheduleError, shown } from './errors.js';

/** The name of a rack: ranks with equal values are in the same rack. */
export type RackId = string | number;

/** The members of each rack. Racks are numbered in the order of their leaders, so rack 0 is the root's. */
export class Racks {
  /** Ranks of each rack, ascending; the first is its leader. */
  readonly members: number[][] = [];
  /** Rack number of each rank. */
  readonly rackOf: Int32Array;
  /** Position of each rank in its rack. */
  readonly positionOf: Int32Array;

  constructor(ids: readonly RackId[]) {
    this.rackOf = new Int32Array(ids.length);
    this.positionOf = new Int32Array(ids.length);
    const numbers = new Map<RackId, number>();
    ids.forEach((id, rank) => {
      let rack = numbers.get(id);
      if (rack === undefined) {
        rack = numbers.size;
        numbers.set(id, rack);
        this.members.push([]);
      }
      this.rackOf[rank] = rack;
      this.positionOf[rank] = this.members[rack]!.push(rank) - 1;
    });
  }

  leader(rack: number): number {
    return this.members[rack]![0]!;
  }
}

/** Checks the option `racks`. */
export function checkRacks(value: unknown, nodes: number): asserts value is readonly RackId[] {
  if (!Array.isArray(value)) {
    throw invalid(`racks must be an array with the rack of each rank, found ${shown(value)}`);
  }
  if (value.length !== nodes) {
    throw invalid(`racks has ${value.length} entries for ${nodes} nodes: give each rank's rack, root first`);
  }
  for (let rank = 0; rank < nodes; rank += 1) {
    const id: unknown = value[rank];
    if (typeof id !== 'string' && !(typeof id === 'number' && Number.isFinite(id))) {
      throw invalid(`racks[${rank}] is ${shown(id)}: the name of a rack is a string or a finite number`);
    }
  }
}

function invalid(message: string): ScheduleError {
  return new ScheduleError('ERR_RDMC_INVALID_RACKS', message);
}
