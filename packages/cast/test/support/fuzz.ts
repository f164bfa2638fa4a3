import { readFileSync } from 'node:fs';
import { expect } from 'vitest';

const DEFAULT_ROUNDS = 100;
const { RDMC_TEST_SEED, RDMC_TEST_FUZZ_SECONDS } = process.env;

/** Draws from a seed. */
export class Dice {
  constructor(private state: number) {}

  /** A whole number below `bound`. */
  below(bound: number): number {
    // mulberry32
    this.state = (this.state + 0x6d2b_79f5) >>> 0;
    let mixed = Math.imul(this.state ^ (this.state >>> 15), this.state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * bound);
  }

  one<T>(values: readonly T[]): T {
    return values[this.below(values.length)]!;
  }

  some<T>(most: number, make: () => T): T[] {
    return Array.from({ length: 1 + this.below(most) }, make);
  }
}

/**
 * Tries many inputs; each has a seed of its own. Runs 100 rounds, or for RDMC_TEST_FUZZ_SECONDS. A failure prints the
 * command that repeats it, and the input as a line for the corpus.
 */
export async function fuzz(
  make: (dice: Dice) => Buffer,
  attempt: (input: Buffer, dice: Dice) => Promise<void>,
): Promise<void> {
  const first = Number(RDMC_TEST_SEED ?? Math.floor(Math.random() * 2 ** 32));
  const seconds = Number(RDMC_TEST_FUZZ_SECONDS ?? 0);
  const end = performance.now() + seconds * 1000;
  for (let round = 0; seconds > 0 ? performance.now() < end : round < DEFAULT_ROUNDS; round += 1) {
    const seed = (first + round) >>> 0;
    const dice = new Dice(seed);
    const input = make(dice);
    try {
      await attempt(input, dice);
    } catch (cause) {
      const command = `RDMC_TEST_SEED=${seed} npx vitest run test/fuzz.test.ts -t '${titleForCommand()}'`;
      const line = `found-by-${seed} ${input.toString('hex')}`;
      const message = `seed ${seed}: ${String(cause)}\nTo repeat it: ${command}\nFor the corpus:\n${line}`;
      throw new Error(message, { cause });
    }
  }
}

function titleForCommand(): string {
  return expect.getState().currentTestName!.split(' > ').at(-1)!;
}

/** Inputs that are tried every time: lines of a name and hexadecimal bytes. */
export function corpus(name: string): [string, Buffer][] {
  const text = readFileSync(new URL(`../corpus/${name}.txt`, import.meta.url), 'utf8');
  return text
    .trim()
    .split('\n')
    .map((line) => line.split(' ') as [string, string])
    .map(([title, hex]) => [title, Buffer.from(hex, 'hex')]);
}

/** Changes a few bytes. */
export function damage(input: Buffer, dice: Dice): Buffer {
  const damaged = Buffer.from(input);
  if (damaged.length === 0) return damaged;
  for (const at of dice.some(4, () => dice.below(damaged.length))) {
    damaged[at] = dice.one([0, 1, 0x7f, 0x80, 0xff, dice.below(256)]);
  }
  return dice.below(8) === 0 ? damaged.subarray(0, dice.below(damaged.length + 1)) : damaged;
}
