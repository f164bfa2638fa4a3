import type { SimulatedGroup } from './group.js';

/** One object of a load, and the members that get it. */
export interface SimulatedObject {
  /** Nodes, from 0: the root first. At least two, each once. */
  readonly members: readonly number[];
  /** 0 to 2^50. */
  readonly byteLength: number;
}

/** The groups of a load, and the order of its objects. */
export interface Load {
  readonly groups: SimulatedGroup[];
  /** The group of each object. */
  readonly order: number[];
}

/** Objects with the same members are messages of one group. */
export function loadOf(
  objects: readonly SimulatedObject[],
  shape: Pick<SimulatedGroup, 'algorithm' | 'blockBytes'> & { readonly racks: readonly number[] | undefined },
): Load {
  const places = new Map<string, number>();
  const found: { members: readonly number[]; byteLengths: number[] }[] = [];
  const order = objects.map(({ members, byteLength }) => {
    const key = members.join();
    const place = places.get(key) ?? found.push({ members, byteLengths: [] }) - 1;
    places.set(key, place);
    found[place]!.byteLengths.push(byteLength);
    return place;
  });
  const groups = found.map(({ members, byteLengths }) => ({
    ...shape,
    members,
    byteLength: Math.max(...byteLengths),
    byteLengths,
    messages: byteLengths.length,
    inFlight: 1,
    racks: shape.racks && members.map((node) => shape.racks![node]!),
  }));
  return { groups, order };
}
