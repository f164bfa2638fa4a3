import { readFileSync } from 'node:fs';
import { type Random, rounds } from '@rdmc/testing';

const ROUNDS = 100;

/** Tries many inputs, in rounds with a seed each. A failure prints the input too, as a line for the corpus. */
export async function fuzz(
  make: (random: Random) => Buffer,
  attempt: (input: Buffer, random: Random) => Promise<void>,
): Promise<void> {
  await rounds(ROUNDS, async (random, seed) => {
    const input = make(random);
    try {
      await attempt(input, random);
    } catch (cause) {
      const line = `found-by-${seed} ${input.toString('hex')}`;
      throw new Error(`${String(cause)}\nFor the corpus:\n${line}`, { cause });
    }
  });
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
export function damage(input: Buffer, random: Random): Buffer {
  const damaged = Buffer.from(input);
  if (damaged.length === 0) return damaged;
  for (const at of random.some(4, () => random.below(damaged.length))) {
    damaged[at] = random.of([0, 1, 0x7f, 0x80, 0xff, random.below(256)]);
  }
  return random.below(8) === 0 ? damaged.subarray(0, random.below(damaged.length + 1)) : damaged;
}
