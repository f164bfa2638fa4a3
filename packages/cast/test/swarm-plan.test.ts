import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { GROUP_COST_BYTES } from '../src/constants.js';
import { SwarmPlan } from '../src/pull/swarm-plan.js';

/** What happens in one step of a pull: somebody joins or leaves, or a run is sent to a boundary. */
type Step =
  | { readonly do: 'join'; readonly has: readonly boolean[] }
  | { readonly do: 'leave'; readonly which: number }
  | { readonly do: 'withdraw'; readonly piece: number }
  /** A run of at most so many pieces; of each member, whether the group reached it, and the piece that was broken. */
  | {
      readonly do: 'send';
      readonly pieces: number;
      readonly reached: readonly boolean[];
      readonly broken: number;
    };

const MOST = 8;
const situation = fc.integer({ min: 1, max: 24 }).chain((pieces) =>
  fc.record({
    costs: fc.array(fc.constantFrom(1, 4_096, 1 << 20, 1 << 30), { minLength: pieces, maxLength: pieces }),
    steps: fc.array(
      fc.oneof(
        fc.record({
          do: fc.constant('join' as const),
          has: fc.array(fc.boolean(), { minLength: pieces, maxLength: pieces }),
        }),
        fc.record({ do: fc.constant('leave' as const), which: fc.nat(MOST) }),
        fc.record({ do: fc.constant('withdraw' as const), piece: fc.nat(pieces - 1) }),
        fc.record({
          do: fc.constant('send' as const),
          pieces: fc.integer({ min: 1, max: pieces }),
          reached: fc.array(fc.boolean(), { minLength: MOST + 1, maxLength: MOST + 1 }),
          broken: fc.nat(2 * pieces),
        }),
      ),
      { maxLength: 40 },
    ),
  }),
);

/** Fetchers with the plan that serves them. */
class Model {
  readonly plan: SwarmPlan;
  /** By id, in the order of joining: pieces that each has. */
  readonly has = new Map<number, Set<number>>();
  readonly withdrawn = new Set<number>();
  #next = 1;

  constructor(readonly costs: readonly number[]) {
    this.plan = new SwarmPlan(Float64Array.from(costs));
  }

  step(step: Step): void {
    if (step.do === 'join' && this.has.size <= MOST) {
      const id = this.#next++;
      this.has.set(id, new Set(step.has.flatMap((it, piece) => (it ? [piece] : []))));
      this.plan.join(id, Uint8Array.from(step.has, Number));
    } else if (step.do === 'leave') {
      const id = [...this.has.keys()][step.which];
      if (id === undefined) return;
      this.has.delete(id);
      this.plan.leave(id);
    } else if (step.do === 'withdraw') {
      this.withdrawn.add(step.piece);
      this.plan.withdraw([step.piece]);
    } else if (step.do === 'send') this.send(step.pieces, (at) => step.reached[at] !== false, step.broken);
  }

  /** Plans a run, and sends its first pieces. Returns false where nothing is to be sent. */
  send(most: number, reached: (member: number) => boolean, broken = -1): boolean {
    const run = this.plan.next();
    if (!run) return false;
    this.#check(run.members, [...run.pieces]);
    const sent = [...run.pieces].slice(0, most);
    for (const [at, id] of run.members.entries()) {
      if (!reached(at)) continue;
      const took = sent.filter((piece) => piece !== broken);
      for (const piece of took) this.has.get(id)!.add(piece);
      this.plan.took(id, took);
    }
    return true;
  }

  lacking(id: number): number[] {
    return this.costs.flatMap((_, piece) =>
      this.has.get(id)!.has(piece) || this.withdrawn.has(piece) ? [] : [piece],
    );
  }

  #check(members: readonly number[], pieces: readonly number[]): void {
    const waiting = [...this.has.keys()].filter((id) => this.lacking(id).length > 0);
    // The fetcher that joined first has its turn.
    expect(members[0]).toBe(waiting[0]);
    expect(pieces.length).toBeGreaterThan(0);
    expect([...pieces].sort((a, b) => a - b)).toEqual(pieces);
    const lackedBy = (piece: number): number[] => waiting.filter((id) => this.lacking(id).includes(piece));
    for (const piece of pieces) {
      const lacking = lackedBy(piece);
      expect(lacking.length).toBeGreaterThan(0);
      expect(members).toEqual(expect.arrayContaining(lacking));
    }
    for (const id of members) expect(this.lacking(id).some((piece) => pieces.includes(piece))).toBe(true);
    // A union moves fewer bytes than another group costs for each class that it has.
    const classes = new Set(pieces.map((piece) => lackedBy(piece).join()));
    const redundant = pieces.reduce(
      (sum, piece) => sum + (members.length - lackedBy(piece).length) * this.costs[piece]!,
      0,
    );
    const all = new Set(
      this.costs.flatMap((_, piece) => (lackedBy(piece).length > 0 ? [lackedBy(piece).join()] : [])),
    );
    const allowed = (classes.size - 1) * members.length * GROUP_COST_BYTES;
    // With more classes than groups, some are merged in any case.
    if (all.size <= 8) expect(redundant).toBeLessThanOrEqual(allowed);
  }
}

describe('the plan of a swarm', () => {
  it('everybody ends with every piece, whatever the order of joins, losses and ends', () => {
    fc.assert(
      fc.property(situation, ({ costs, steps }) => {
        const model = new Model(costs);
        for (const step of steps) {
          model.step(step);
          for (const id of model.has.keys()) expect(model.plan.lacking(id)).toBe(model.lacking(id).length);
        }
        // From now on everything arrives: each run ends the wait of the first fetcher for one piece at least.
        let runs = 0;
        while (model.send(Number.POSITIVE_INFINITY, () => true)) runs += 1;
        expect(runs).toBeLessThanOrEqual(costs.length * (MOST + 1));
        for (const id of model.has.keys()) expect(model.lacking(id)).toEqual([]);
      }),
      { numRuns: 300 },
    );
  });

  it('a late fetcher gets the rest with the others, and the beginning afterwards, with others who lack it', () => {
    const plan = new SwarmPlan(new Float64Array(10).fill(1 << 30));
    const nothing = new Uint8Array(10);
    plan.join(1, nothing);
    plan.join(2, nothing);
    expect(plan.next()).toEqual({ members: [1, 2], pieces: Uint32Array.of(0, 1, 2, 3, 4, 5, 6, 7, 8, 9) });
    for (const id of [1, 2]) plan.took(id, [0, 1, 2]);
    plan.join(3, nothing);
    expect(plan.next()).toEqual({ members: [1, 2, 3], pieces: Uint32Array.of(3, 4, 5, 6, 7, 8, 9) });
    for (const id of [1, 2, 3]) plan.took(id, [3, 4]);
    plan.join(4, nothing);
    expect(plan.next()).toEqual({ members: [1, 2, 3, 4], pieces: Uint32Array.of(5, 6, 7, 8, 9) });
    for (const id of [1, 2, 3, 4]) plan.took(id, [5, 6, 7, 8, 9]);
    expect([1, 2, 3, 4].map((id) => plan.lacking(id))).toEqual([0, 0, 3, 5]);
    // The beginning goes to both at once, and then the rest to the last one.
    expect(plan.next()).toEqual({ members: [3, 4], pieces: Uint32Array.of(0, 1, 2) });
    for (const id of [3, 4]) plan.took(id, [0, 1, 2]);
    expect(plan.next()).toEqual({ members: [4], pieces: Uint32Array.of(3, 4) });
  });

  it('a fetcher that lacks little is not overtaken by those that join later', () => {
    const plan = new SwarmPlan(new Float64Array(8).fill(1 << 30));
    const all = (piece: number): Uint8Array =>
      Uint8Array.from({ length: 8 }, (_, at) => (at === piece ? 0 : 1));
    plan.join(1, all(7));
    for (let id = 2; id < 8; id += 1) plan.join(id, all(0));
    expect(plan.next()).toEqual({ members: [1], pieces: Uint32Array.of(7) });
  });

  it('small pieces that some have are sent to all, rather than in another group', () => {
    const plan = new SwarmPlan(new Float64Array(4).fill(1_000));
    plan.join(1, Uint8Array.of(1, 1, 0, 0));
    plan.join(2, Uint8Array.of(0, 0, 0, 0));
    expect(plan.next()).toEqual({ members: [1, 2], pieces: Uint32Array.of(0, 1, 2, 3) });
  });
});
