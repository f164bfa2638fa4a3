/**
 * Bytes of a hostile client. A failure prints its seed; RDMC_TEST_SEED repeats it, and RDMC_TEST_FUZZ_SECONDS tries more
 * seeds for that long.
 */

import { readFileSync } from 'node:fs';
import { FUZZ_SECONDS, SEED } from '@rdmc/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  MAX_ARGUMENTS,
  MAX_BULK_BYTES,
  MAX_INLINE_BYTES,
  MAX_UNAUTHENTICATED_COMMAND_BYTES,
} from '../src/limits.js';
import {
  CLIENT_LIMITS,
  type RequestLimits,
  RequestParser,
  UNAUTHENTICATED_LIMITS,
} from '../src/resp/parser.js';

const corpus = (
  JSON.parse(readFileSync(new URL('corpus/resp.json', import.meta.url), 'utf8')) as string[]
).map((text) => Buffer.from(text, 'latin1'));
/** A buffer of a command under way is at most twice what arrived of it, and what the next bulk string needs. */
const EXPECTED_BULK_BYTES = 256 * 1024;
const SLACK_BYTES = 2048;
/** The table of an argument takes 16 bytes at most while it doubles, and an argument arrives as 6 bytes at least. */
const HELD_PER_BYTE = 6;

const lengths = fc.oneof(
  fc.nat(20),
  fc.constantFrom(-1, MAX_BULK_BYTES, MAX_BULK_BYTES + 1, 2 ** 29, 2 ** 31, 2 ** 32, 2 ** 53),
  fc.constantFrom(
    10,
    11,
    MAX_ARGUMENTS,
    MAX_ARGUMENTS + 1,
    MAX_UNAUTHENTICATED_COMMAND_BYTES,
    MAX_INLINE_BYTES,
  ),
);
const token = fc.oneof(
  lengths.map((length) => `*${length}\r\n`),
  lengths.map((length) => `$${length}\r\n`),
  fc.constantFrom('\r\n', '\n', '\r', '*', '$', '"', "'", '\\', ' ', '\0', '"\\x4', '0'.repeat(40)),
  fc.constantFrom('$1\r\nx\r\n', '*2\r\n$3\r\nGET\r\n$1\r\nk\r\n', 'SET a b\r\n', 'x'.repeat(20_000)),
  fc.uint8Array({ maxLength: 30 }).map((bytes) => Buffer.from(bytes).toString('latin1')),
);
const made = fc.array(token, { maxLength: 30 }).map((tokens) => Buffer.from(tokens.join(''), 'latin1'));
/** A known input with some bytes changed, twice over. */
const mutated = fc
  .tuple(
    fc.constantFrom(...corpus),
    fc.constantFrom(...corpus),
    fc.array(fc.tuple(fc.nat(60), fc.nat(255)), { maxLength: 4 }),
  )
  .map(([a, b, changes]) => {
    const bytes = Buffer.concat([a, b]);
    for (const [at, value] of changes) bytes[at % bytes.length] = value;
    return bytes;
  });
const hostile = fc.oneof(made, mutated);
const cuts = fc.array(fc.nat(5000), { maxLength: 8 });
const limits = fc.constantFrom(CLIENT_LIMITS, UNAUTHENTICATED_LIMITS);

/** The commands that were found, and the error that ended them. */
interface Outcome {
  readonly commands: string[][];
  readonly error: string | undefined;
}

function parse(bytes: Buffer, places: readonly number[], which: RequestLimits): Outcome {
  const parser = new RequestParser();
  parser.limits = which;
  const commands: string[][] = [];
  const ends = [...new Set([...places.map((place) => place % (bytes.length + 1)), bytes.length])];
  let at = 0;
  for (const end of ends.sort((a, b) => a - b)) {
    parser.feed(Buffer.from(bytes.subarray(at, end)));
    at = end;
    try {
      while (parser.next()) {
        const { arguments: args } = parser;
        commands.push(Array.from({ length: args.count }, (_, index) => args.string(index)));
        expect(args.count).toBeLessThanOrEqual(which.arguments);
      }
    } catch (error) {
      expect(error).toMatchObject({ name: 'KvError', code: 'ERR_RDMC_KV_PROTOCOL' });
      return { commands, error: (error as Error).message };
    }
    expect(parser.heldBytes).toBeLessThanOrEqual(at * HELD_PER_BYTE + EXPECTED_BULK_BYTES + SLACK_BYTES);
    if (which === UNAUTHENTICATED_LIMITS) {
      expect(parser.heldBytes).toBeLessThanOrEqual(3 * MAX_UNAUTHENTICATED_COMMAND_BYTES + bytes.length);
    }
  }
  return { commands, error: undefined };
}

describe('the parser of requests', () => {
  it.each(corpus.map((bytes) => [bytes]))('%j has the same outcome byte by byte', (bytes) => {
    const every = Array.from({ length: bytes.length }, (_, index) => index);
    for (const which of [CLIENT_LIMITS, UNAUTHENTICATED_LIMITS]) {
      expect(parse(bytes, every, which)).toEqual(parse(bytes, [], which));
    }
  });

  it(
    'finds the same commands and the same coded error however hostile bytes are cut, in bounded memory',
    () => {
      const until = performance.now() + FUZZ_SECONDS * 1000;
      for (let seed = SEED, runs = 0; runs === 0 || performance.now() < until; seed += 1, runs += 1) {
        fc.assert(
          fc.property(hostile, cuts, limits, (bytes, places, which) => {
            expect(parse(bytes, places, which)).toEqual(parse(bytes, [], which));
          }),
          { seed, numRuns: 500 },
        );
      }
    },
    60_000 + 2000 * FUZZ_SECONDS,
  );
});
