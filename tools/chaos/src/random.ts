export interface Chances {
  /** From `least` to `most`, both included. */
  integer(least: number, most: number): number;
  pick<T>(from: readonly T[]): T;
  shuffled<T>(what: readonly T[]): T[];
}

/** Pseudo-random choices from a seed (the generator is mulberry32). */
export function chances(seed: number): Chances {
  let state = seed >>> 0;
  const unit = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const integer = (least: number, most: number): number => least + Math.floor(unit() * (most - least + 1));
  return {
    integer,
    pick: (from) => from[integer(0, from.length - 1)]!,
    shuffled(what) {
      const left = [...what];
      return what.map(() => left.splice(integer(0, left.length - 1), 1)[0]!);
    },
  };
}
