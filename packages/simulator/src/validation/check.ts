/** A known result, and what the simulator gives for it. */
export interface Check {
  /** The case, for a message. */
  readonly what: string;
  readonly expected: number;
  readonly found: number;
  /** `equal`: up to rounding; `most`, `least`: the expected value is a limit. */
  readonly relation: 'equal' | 'most' | 'least';
}

/** Rounding of float64 over some thousand additions. */
const ROUNDING = 1e-9;

export function holds({ expected, found, relation }: Check): boolean {
  const slack = ROUNDING * Math.max(1, Math.abs(expected));
  if (relation === 'most') return found <= expected + slack;
  if (relation === 'least') return found >= expected - slack;
  return Math.abs(found - expected) <= slack;
}

export function describe({ what, expected, found, relation }: Check): string {
  const limit = { equal: '', most: 'at most ', least: 'at least ' }[relation];
  return `${what}: expected ${limit}${expected}, found ${found}`;
}
