import { thrown } from '@rdmc/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CastError } from '../src/errors.js';
import { Coverage } from '../src/memory/coverage.js';
import { WantedParts } from '../src/memory/parts.js';
import {
  headLength,
  isSafetensors,
  MAX_HEADER_BYTES,
  parseTensors,
  type Tensor,
} from '../src/memory/safetensors.js';
import { TensorProgress } from '../src/memory/tensor-progress.js';
import { corpus, damage, fuzz } from './support/fuzz.js';
import { type MadeTensor, safetensorsFile, withHeader } from './support/safetensors.js';

const ELEMENT_BYTES = { U8: 1, BF16: 2, F32: 4, I64: 8 } as const;
const dtypes = Object.keys(ELEMENT_BYTES) as (keyof typeof ELEMENT_BYTES)[];

const madeTensor = fc
  .record({
    name: fc.string({ unit: 'binary', maxLength: 12 }).filter((name) => name !== '__metadata__'),
    dtype: fc.constantFrom(...dtypes),
    shape: fc.array(fc.nat(4), { maxLength: 3 }),
  })
  .map(({ name, dtype, shape }): MadeTensor => {
    const length = shape.reduce((product, each) => product * each, ELEMENT_BYTES[dtype]);
    return { name: Buffer.from(name).toString(), dtype, shape, bytes: Buffer.alloc(length, 7) };
  });
const madeTensors = fc.uniqueArray(madeTensor, { selector: ({ name }) => name, maxLength: 8 });

function parse(file: Buffer): Tensor[] {
  return parseTensors(file.subarray(0, headLength(file, file.length)), file.length);
}

function refusal(file: Buffer): CastError {
  return thrown<CastError>(() => parse(file));
}

const F32 = (begin: number, end: number, shape = [(end - begin) / 4]) =>
  JSON.stringify({ dtype: 'F32', shape, data_offsets: [begin, end] });

describe('the header of a safetensors file', () => {
  it('names every tensor, in the order of the offsets', () => {
    fc.assert(
      fc.property(madeTensors, fc.option(fc.dictionary(fc.string(), fc.string())), (tensors, metadata) => {
        const file = safetensorsFile(tensors, metadata ?? undefined);
        const parsed = parse(file);
        const byName = new Map(parsed.map((tensor) => [tensor.name, tensor]));
        expect(byName.size).toBe(tensors.length);
        for (const { name, dtype, shape, bytes } of tensors) {
          const { begin, end, ...rest } = byName.get(name)!;
          expect(rest).toEqual({ name, dtype, shape });
          expect(end - begin).toBe(bytes.length);
        }
        expect(parsed.at(-1)?.end ?? file.length).toBe(file.length);
      }),
    );
  });

  it.each<[string, Buffer, RegExp]>([
    ['is a file of 7 bytes', Buffer.alloc(7), /only 7 bytes/],
    ['is longer than the file', withHeader('{}').subarray(0, 9), /does not fit/],
    ['is longer than 100 MB', longHeader(BigInt(MAX_HEADER_BYTES) + 1n), /longer than 100000000/],
    ['has a length beyond 2^53', longHeader(2n ** 64n - 1n), /longer than/],
    ['is empty', withHeader(''), /does not begin with/],
    ['begins with a space', withHeader(' {}'), /does not begin with/],
    ['is a list', withHeader('[]'), /does not begin with/],
    ['is a pointer of Git LFS', Buffer.from('version https://git-lfs.github.com/spec/v1\n'), /longer than/],
    ['is cut', withHeader('{"a":'), /not JSON/],
    ['is not UTF-8', withHeader(Buffer.from('{"\xff":1}', 'latin1')), /not JSON/],
    ['has something behind it', withHeader('{}x'), /not JSON/],
    ['has a tensor twice', withHeader(`{"a":${F32(0, 4)},"a":${F32(0, 4)}}`, Buffer.alloc(4)), /twice/],
    [
      'has a tensor twice, once with an escape',
      withHeader(`{"a":${F32(0, 4)},"\\u0061":${F32(0, 4)}}`, Buffer.alloc(4)),
      /twice/,
    ],
    [
      'has a field of a tensor twice',
      withHeader('{"a":{"dtype":"U8","dtype":"U8","shape":[0],"data_offsets":[0,0]}}'),
      /twice/,
    ],
    [
      'has a field too many',
      withHeader('{"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0],"x":1}}'),
      /'x'/,
    ],
    ['has a tensor that is null', withHeader('{"a":null}'), /needed an object/],
    ['has metadata of numbers', withHeader('{"__metadata__":{"a":1}}'), /needed text/],
    ['has a negative shape', withHeader('{"a":{"dtype":"U8","shape":[-1],"data_offsets":[0,0]}}'), /whole/],
    ['has one offset', withHeader('{"a":{"dtype":"U8","shape":[0],"data_offsets":[0]}}'), /2 to 2 items/],
    ['has an unknown type', withHeader('{"a":{"dtype":"X8","shape":[0],"data_offsets":[0,0]}}'), /type "X8"/],
    [
      'has a type that every object has',
      withHeader('{"a":{"dtype":"toString","shape":[0],"data_offsets":[0,0]}}'),
      /unknown type/,
    ],
    ['has a tensor beyond the file', withHeader(`{"a":${F32(0, 8)}}`, Buffer.alloc(4)), /behind the end/],
    [
      'has tensors that overlap',
      withHeader(`{"a":${F32(0, 8)},"b":${F32(4, 12)}}`, Buffer.alloc(12)),
      /one before/,
    ],
    ['has a gap', withHeader(`{"a":${F32(0, 4)},"b":${F32(8, 12)}}`, Buffer.alloc(12)), /one before/],
    [
      'has offsets in the wrong order',
      withHeader(`{"a":${F32(0, 4)},"b":${F32(4, 0, [0])}}`, Buffer.alloc(4)),
      /one before/,
    ],
    ['has bytes behind the tensors', withHeader(`{"a":${F32(0, 4)}}`, Buffer.alloc(5)), /end at byte/],
    ['has another shape', withHeader(`{"a":${F32(0, 8, [3])}}`, Buffer.alloc(8)), /not have/],
    [
      'has a shape whose product is too large',
      withHeader(`{"a":${F32(0, 8, [2 ** 40, 2 ** 40])}}`, Buffer.alloc(8)),
      /not have/,
    ],
    [
      'has half a byte',
      withHeader('{"a":{"dtype":"F4","shape":[3],"data_offsets":[0,1]}}', Buffer.alloc(1)),
      /not have/,
    ],
  ])('that %s is refused', (_, file, message) => {
    const error = refusal(file);
    expect(error).toMatchObject({ code: 'ERR_RDMC_INVALID_SAFETENSORS' });
    expect(error.message).toMatch(message);
  });

  it('may have names that look like syntax, and empty tensors', () => {
    const names = ['a":{', '\\', '\\"', '__proto__', 'constructor', ''];
    const file = safetensorsFile(
      names.map((name) => ({ name, dtype: 'U8', shape: [0, 9_007_199_254_740_991], bytes: Buffer.alloc(0) })),
    );
    expect(parse(file).map(({ name }) => name)).toEqual(names);
  });

  it('that is damaged is refused, or describes the bytes of the file without gaps', async () => {
    const tensors = ['a', 'b', 'c'].map((name, at) => ({
      ...{ name, dtype: 'F32', shape: [2, at], bytes: Buffer.alloc(8 * at) },
    }));
    const whole = safetensorsFile(tensors, { format: 'pt' });
    await fuzz(
      (random) => damage(whole, random),
      async (file) => expectSound(file),
    );
  });

  it.each(corpus('safetensors'))('%s', (_, file) => expectSound(file));

  it('is looked for by the name of the file', () => {
    expect(isSafetensors(Buffer.from('model/a.safetensors'))).toBe(true);
    expect(isSafetensors(Buffer.from('model/a.safetensors.index.json'))).toBe(false);
  });
});

function longHeader(bytes: bigint): Buffer {
  const file = Buffer.alloc(16);
  file.writeBigUInt64LE(bytes);
  return file;
}

function expectSound(file: Buffer): void {
  let tensors: Tensor[];
  try {
    tensors = parse(file);
  } catch (error) {
    expect(error).toBeInstanceOf(CastError);
    expect(error).toMatchObject({ code: 'ERR_RDMC_INVALID_SAFETENSORS' });
    return;
  }
  let at = headLength(file, file.length);
  for (const { begin, end } of tensors) {
    expect(begin).toBe(at);
    at = end;
  }
  expect(at).toBe(file.length);
}

const range = fc
  .tuple(fc.nat(64), fc.nat(64))
  .map(([a, b]) => ({ begin: Math.min(a, b), end: Math.max(a, b) }));

describe('tensors that arrive', () => {
  it('are found when their last byte is here, each once, in whatever pieces the file comes', () => {
    fc.assert(
      fc.property(madeTensors, fc.array(fc.nat(400)), fc.boolean(), (tensors, cuts, isTwice) => {
        const file = safetensorsFile(tensors);
        const expected = parse(file);
        const progress = new TensorProgress(file.length);
        const here = new Coverage();
        const bounds = [...new Set([0, ...cuts.map((cut) => cut % file.length), file.length])];
        bounds.sort((a, b) => a - b);
        const found: Tensor[] = [];
        for (const [at, end] of bounds.slice(1).entries()) {
          const begin = bounds[at]!;
          const isNew = !progress.tensors;
          progress.read(begin, file.subarray(begin, end));
          if (isTwice) progress.read(begin, file.subarray(begin, end));
          here.add(begin, end);
          found.push(...progress.whole(isNew ? 0 : begin, isNew ? file.length : end, here));
          const isDue = (tensor: Tensor) => tensor.end <= end || tensor.begin === tensor.end;
          const due = progress.tensors ? expected.filter(isDue) : [];
          expect(new Set(found)).toEqual(new Set(due));
          expect(found).toHaveLength(due.length);
        }
        expect(found).toHaveLength(expected.length);
      }),
    );
  });

  it('are found where the bytes after the header come before it', () => {
    const tensors = ['a', 'b'].map((name) => ({ name, dtype: 'U8', shape: [4], bytes: Buffer.alloc(4) }));
    const file = safetensorsFile(tensors);
    const head = headLength(file, file.length);
    const progress = new TensorProgress(file.length);
    const here = new Coverage();
    progress.read(head + 2, file.subarray(head + 2));
    here.add(head + 2, file.length);
    expect(progress.whole(head + 2, file.length, here)).toEqual([]);
    progress.read(0, file.subarray(0, head));
    here.add(0, head);
    expect(progress.whole(0, file.length, here).map(({ name }) => name)).toEqual(['b']);
    here.add(head, head + 2);
    expect(progress.whole(head, head + 2, here).map(({ name }) => name)).toEqual(['a']);
  });
});

describe('ranges of bytes', () => {
  it('are those of a set of bytes', () => {
    fc.assert(
      fc.property(fc.array(range), range, (ranges, asked) => {
        const coverage = new Coverage(ranges);
        const bytes = new Set<number>();
        for (const { begin, end } of ranges) for (let at = begin; at < end; at += 1) bytes.add(at);
        const listed = (parts: readonly { begin: number; end: number }[]) =>
          parts.flatMap(({ begin, end }) => Array.from({ length: end - begin }, (_, at) => begin + at));
        const inAsked = (at: number) => at >= asked.begin && at < asked.end;
        expect(listed(coverage.ranges)).toEqual([...bytes].sort((a, b) => a - b));
        expect(coverage.bytes).toBe(bytes.size);
        const { begin, end } = asked;
        const wanted = listed([asked]);
        expect(coverage.covers(begin, end)).toBe(wanted.every((at) => bytes.has(at)));
        expect(listed(coverage.within(begin, end))).toEqual(wanted.filter((at) => bytes.has(at)));
        expect(listed(coverage.missing(begin, end))).toEqual(wanted.filter((at) => !bytes.has(at)));
        expect(coverage.within(begin, end).every((part) => inAsked(part.begin))).toBe(true);
        // None is empty, and none touches another.
        for (const [at, each] of coverage.ranges.entries()) {
          expect(each.begin).toBeLessThan(each.end);
          expect(each.begin).toBeGreaterThan(coverage.ranges[at - 1]?.end ?? -1);
        }
      }),
    );
  });
});

describe('the wanted part of a cast', () => {
  const path = Buffer.from('model/a.safetensors');
  const tensors = parse(
    safetensorsFile(
      ['layers.0.w', 'layers.1.w', 'head'].map((name) => ({
        ...{ name, dtype: 'U8', shape: [4], bytes: Buffer.alloc(4) },
      })),
    ),
  );

  it('is the header and the tensors that match', () => {
    const parts = new WantedParts({ tensors: ['layers.1.*', 'head'] });
    expect(parts.byPath(path, 100)).toBeUndefined();
    const begin = tensors[0]!.begin;
    expect(parts.byTensors(begin, tensors).ranges).toEqual([
      { begin: 0, end: begin },
      { begin: begin + 4, end: begin + 12 },
    ]);
    expect(parts.byPath(Buffer.from('model/config.json'), 100)).toBe('all');
  });

  it('is a range of the files that match, as far as they have it', () => {
    const parts = new WantedParts({ tensors: ['head'], ranges: [{ path: 'model/*', begin: 10, end: 50 }] });
    const ranges = (size: number) => (parts.byPath(path, size) as Coverage).ranges;
    expect(ranges(100)).toEqual([{ begin: 10, end: 50 }]);
    expect(ranges(20)).toEqual([{ begin: 10, end: 20 }]);
    expect(ranges(5)).toEqual([]);
    expect(parts.byPath(Buffer.from('b'), 100)).toBe('all');
  });

  it('is everything where nothing is named', () => {
    expect(new WantedParts().byPath(path, 100)).toBe('all');
    expect(new WantedParts().isWanted('head')).toBe(true);
  });

  it('is refused with a pattern that is malformed', () => {
    expect(thrown(() => new WantedParts({ tensors: ['[a'] })).code).toBe('ERR_RDMC_INVALID_PATTERN');
  });
});
