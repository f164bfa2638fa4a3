/** YCSB's skew: the most popular record gets about an eighth of all requests to 100,000. */
const THETA = 0.99;

/**
 * Numbers from 0 to `count` − 1, number i about as often as 1 / (i + 1)^0.99 says (Gray et al., Quickly generating
 * billion-record synthetic databases, SIGMOD 1994; the generator of YCSB).
 */
export class Zipf {
  readonly #alpha = 1 / (1 - THETA);
  readonly #zetaN: number;
  readonly #eta: number;

  constructor(
    private readonly count: number,
    private readonly random: () => number = Math.random,
  ) {
    this.#zetaN = zeta(count);
    this.#eta = (1 - (2 / count) ** (1 - THETA)) / (1 - zeta(2) / this.#zetaN);
  }

  next(): number {
    const u = this.random();
    const uz = u * this.#zetaN;
    if (uz < 1) return 0;
    if (uz < 1 + 0.5 ** THETA) return Math.min(1, this.count - 1);
    return Math.min(this.count - 1, Math.floor(this.count * (this.#eta * u - this.#eta + 1) ** this.#alpha));
  }
}

function zeta(count: number): number {
  let sum = 0;
  for (let i = 1; i <= count; i += 1) sum += 1 / i ** THETA;
  return sum;
}
