import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  MAX_ARGUMENTS,
  MAX_UNAUTHENTICATED_ARGUMENTS,
  MAX_UNAUTHENTICATED_COMMAND_BYTES,
} from '../src/limits.js';
import { CLIENT_LIMITS, RequestParser, UNAUTHENTICATED_LIMITS } from '../src/resp/parser.js';
import { encodeCommand } from './support/encode.js';

const word = fc
  .oneof(fc.uint8Array({ maxLength: 40 }), fc.uint8Array({ minLength: 3000, maxLength: 5000 }))
  .map((bytes) => Buffer.from(bytes).toString('latin1'));
const command = fc.array(word, { minLength: 1, maxLength: 6 });

/** All commands in the bytes, which arrive in pieces cut at the given places. */
function parse(bytes: Buffer, cuts: readonly number[]): string[][] {
  const parser = new RequestParser();
  const found: string[][] = [];
  const places = [...new Set([0, ...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length])].sort(
    (a, b) => a - b,
  );
  for (let i = 1; i < places.length; i += 1) {
    // A copy, wiped afterwards: nothing may be read out of a piece once the next one is here.
    const piece = Buffer.from(bytes.subarray(places[i - 1], places[i]));
    parser.feed(piece);
    while (parser.next()) {
      const { arguments: args } = parser;
      found.push(Array.from({ length: args.count }, (_, index) => args.string(index)));
    }
    piece.fill(0xee);
  }
  return found;
}

describe('RequestParser', () => {
  it('finds the same commands however the bytes are cut', () => {
    fc.assert(
      fc.property(
        fc.array(command, { maxLength: 5 }),
        fc.array(fc.nat(40_000), { maxLength: 12 }),
        (commands, cuts) => {
          expect(parse(Buffer.concat(commands.map(encodeCommand)), cuts)).toEqual(commands);
        },
      ),
      { numRuns: 300 },
    );
  });

  it('finds them byte by byte, inline ones between them', () => {
    const bytes = Buffer.concat([
      encodeCommand(['SET', 'a', 'b\r\nc']),
      Buffer.from('PING\r\n\r\nget  "x\\x41 y" \'z\'\n*0\r\n'),
      encodeCommand(['', '']),
    ]);
    const every = Array.from({ length: bytes.length }, (_, index) => index);
    const expected = [['SET', 'a', 'b\r\nc'], ['PING'], ['get', 'xA y', 'z'], ['', '']];
    expect(parse(bytes, every)).toEqual(expected);
    expect(parse(bytes, [])).toEqual(expected);
  });

  it('passes over an argument above the limit, and says so', () => {
    const long = 'v'.repeat(3 * 1024 * 1024);
    const bytes = Buffer.concat([encodeCommand(['SET', 'key', long, 'EX']), encodeCommand(['PING'])]);
    const parser = new RequestParser();
    const seen: [number, boolean][] = [];
    for (let at = 0; at < bytes.length; at += 65_536) {
      parser.feed(bytes.subarray(at, at + 65_536));
      while (parser.next()) seen.push([parser.arguments.count, parser.arguments.oversized]);
      expect(parser.pendingBytes).toBeLessThan(200_000);
    }
    expect(seen).toEqual([
      [4, true],
      [1, false],
    ]);
  });

  it('passes over a long argument without copying what it keeps again and again', () => {
    const kept = Array.from({ length: 8 }, () => 'v'.repeat(1024 * 1024));
    const parser = new RequestParser();
    parser.feed(encodeCommand(['MSET', ...kept, 'end']).subarray(0, -'$3\r\nend\r\n'.length));
    expect(parser.next()).toBe(false);
    parser.feed(Buffer.from(`$${64 * 1024 * 1024}\r\n`));
    expect(parser.next()).toBe(false);
    const memory = parser.arguments.buffer;
    for (let i = 0; i < 1024; i += 1) {
      parser.feed(Buffer.alloc(64 * 1024));
      expect(parser.next()).toBe(false);
      expect(parser.arguments.buffer).toBe(memory);
    }
    parser.feed(Buffer.from('\r\n'));
    expect([parser.next(), parser.arguments.count, parser.arguments.oversized]).toEqual([true, 10, true]);
    expect(parser.arguments.length(8)).toBe(1024 * 1024);
  });

  it('holds nothing after a command with as many arguments as there may be', () => {
    const parser = new RequestParser();
    const bytes = encodeCommand(Array.from({ length: MAX_ARGUMENTS }, () => ''));
    let found = 0;
    for (let at = 0; at < bytes.length; at += 65_536) {
      parser.feed(Buffer.from(bytes.subarray(at, at + 65_536)));
      while (parser.next()) found += 1;
    }
    expect(found).toBe(1);
    expect(parser.heldBytes).toBe(0);
  });

  it('does not count commands that were not read yet, however often they are kept', () => {
    const parser = new RequestParser();
    parser.feed(Buffer.concat(['a', 'b', 'c'].map((key) => encodeCommand(['GET', key]))));
    for (const key of ['a', 'b']) {
      expect([parser.next(), parser.arguments.string(1)]).toEqual([true, key]);
      parser.keepUnread();
      expect(parser.pendingBytes).toBe(0);
    }
    expect([parser.next(), parser.arguments.string(1), parser.next()]).toEqual([true, 'c', false]);
  });

  it('counts the tables of a command that is not complete', () => {
    const parser = new RequestParser();
    const whole = encodeCommand(Array.from({ length: 10_000 }, () => 'x'));
    parser.feed(Buffer.from(whole.subarray(0, -1)));
    expect(parser.next()).toBe(false);
    expect(parser.pendingBytes).toBeGreaterThan(whole.length + 10_000 * 8);
    parser.feed(Buffer.from('\nPIN'));
    expect([parser.next(), parser.arguments.count]).toEqual([true, 10_000]);
    expect(parser.next()).toBe(false);
    expect(parser.arguments.extraTableBytes).toBe(0);
  });

  it('takes bytes of UTF-8 in a line for what they are', () => {
    const parser = new RequestParser();
    parser.feed(Buffer.from(' SET à\t"à à"\r\n'));
    expect(parser.next()).toBe(true);
    const words = [1, 2].map((index) => Buffer.from(parser.arguments.string(index), 'latin1').toString());
    expect(words).toEqual(['à', 'à à']);
  });

  describe('of a client that has not given the password', () => {
    const limit = 'x'.repeat(MAX_UNAUTHENTICATED_COMMAND_BYTES);
    it.each([
      ['one argument more', `*${MAX_UNAUTHENTICATED_ARGUMENTS + 1}\r\n`, 'unauthenticated multibulk length'],
      ['a line of more words', `${'a '.repeat(11)}\r\n`, 'unauthenticated multibulk length'],
      ['a longer argument', `*1\r\n$${limit.length}\r\n`, 'unauthenticated bulk length'],
      ['an argument over 1 MiB', '*1\r\n$2000000\r\n', 'unauthenticated bulk length'],
      ['two halves', `*2\r\n$9000\r\n${limit.slice(0, 9000)}\r\n$9000\r\n`, 'unauthenticated bulk length'],
      ['a longer line', `${limit}x`, 'too big inline request'],
    ])('refuses %s', (_, text, message) => {
      const parser = new RequestParser();
      parser.limits = UNAUTHENTICATED_LIMITS;
      parser.feed(Buffer.from(text));
      expect(() => parser.next()).toThrow(message);
    });

    it('takes a password, and long commands once it was right, in the same chunk too', () => {
      const parser = new RequestParser();
      parser.limits = UNAUTHENTICATED_LIMITS;
      parser.feed(Buffer.concat([encodeCommand(['AUTH', 'secret']), encodeCommand(['SET', 'k', limit])]));
      expect(parser.next()).toBe(true);
      parser.limits = CLIENT_LIMITS;
      expect([parser.next(), parser.arguments.length(2)]).toEqual([true, limit.length]);
    });
  });

  it.each([
    ['*-1x\r\n', 'invalid multibulk length'],
    ['*999999999\r\n', 'invalid multibulk length'],
    ['*1\r\n$4294967296\r\n', 'invalid bulk length'],
    ['*1\r\n$-2\r\n', 'invalid bulk length'],
    ['*2\r\n*1\r\n*1\r\n', "expected '$', got '*'"],
    ['*1\r\n:5\r\n', "expected '$', got ':'"],
    ['*1\r\n$2\r\nabcd', 'invalid bulk length'],
    [`*${'1'.repeat(100)}`, 'invalid multibulk length'],
    ['x'.repeat(70_000), 'too big inline request'],
    ['set "a\r\n', 'unbalanced quotes in request'],
  ])('refuses %j', (text, message) => {
    const parser = new RequestParser();
    parser.feed(Buffer.from(text));
    expect(() => parser.next()).toThrow(message);
  });
});
