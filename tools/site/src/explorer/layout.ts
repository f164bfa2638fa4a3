/** A point of the picture, whose middle is 0, 0 and whose circle of members has the radius 1. */
export interface Point {
  readonly x: number;
  readonly y: number;
}

/** Space between two racks, in spaces between two members. */
const RACK_GAP = 1;

/** The members' places on a circle: rank 0 on top, then clockwise, with a gap between racks. */
export function placesOf(racks: readonly number[]): Point[] {
  const changes = racks.filter((rack, rank) => rank > 0 && rack !== racks[rank - 1]).length;
  const gaps = changes === 0 ? 0 : changes + 1;
  const share = (2 * Math.PI) / (racks.length + gaps * RACK_GAP);
  let before = 0;
  return racks.map((rack, rank) => {
    if (rank > 0 && rack !== racks[rank - 1]) before += RACK_GAP;
    const angle = (rank + before) * share - Math.PI / 2;
    return { x: Math.cos(angle), y: Math.sin(angle) };
  });
}

/** The point at a share of the way from one to another. */
export function between(from: Point, to: Point, share: number): Point {
  return { x: from.x + (to.x - from.x) * share, y: from.y + (to.y - from.y) * share };
}

/** Radius of a member's disc, so that neighbours do not touch. */
export function discRadius(places: readonly Point[]): number {
  const distances = places.map(({ x, y }, rank) => {
    const next = places[(rank + 1) % places.length]!;
    return Math.hypot(next.x - x, next.y - y);
  });
  return Math.min(0.16, 0.33 * Math.min(...distances));
}

/** The line from one point to another, moved to the right of its direction: two opposite ones do not meet. */
export function lane(from: Point, to: Point, width: number): { readonly from: Point; readonly to: Point } {
  const length = Math.hypot(to.x - from.x, to.y - from.y);
  const [x, y] = [(-(to.y - from.y) * width) / length, ((to.x - from.x) * width) / length];
  return { from: { x: from.x + x, y: from.y + y }, to: { x: to.x + x, y: to.y + y } };
}
