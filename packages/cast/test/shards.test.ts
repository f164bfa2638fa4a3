import { closeSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { type CastParts, castFile, type MemoryEvent, receiveFiles } from '@rdmc/cast';
import { thrown } from '@rdmc/testing';
import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { DELTA_BLOCK_BYTES, HEAD_FRAME_BYTES } from '../src/constants.js';
import { BlockSet } from '../src/delta/block-set.js';
import { deltaBlocks } from '../src/delta/blocks.js';
import { decodeHeld } from '../src/delta/hash-frames.js';
import { Coverage } from '../src/memory/coverage.js';
import { PartAnswers } from '../src/memory/part-answers.js';
import { WantedParts } from '../src/memory/parts.js';
import { headLength, parseTensors } from '../src/memory/safetensors.js';
import { BlockAnswers } from '../src/sender/block-answers.js';
import { slow, someReceived, until } from './support/disturbed.js';
import { startReceivers } from './support/receivers.js';
import { directoryWith, seededModel, withHeader } from './support/safetensors.js';
import { namesIn, seededBytes } from './support/tree.js';

const TENSOR_BYTES = 6_000_000;
const NAMES = ['layers.0', 'layers.1', 'layers.2'];
const contents = NAMES.map((_, at) => seededBytes(TENSOR_BYTES, at));
const model = seededModel(NAMES, TENSOR_BYTES);

const open: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((close) => close()));
});

async function shardReceiver(parts?: CastParts) {
  const events: MemoryEvent[] = [];
  const memory = {
    allocate: ({ size }: { readonly size: number | undefined }) => new SharedArrayBuffer(size!),
    arrived: (event: MemoryEvent) => void events.push(event),
  };
  const receiver = await receiveFiles({ memory, port: 0, parts });
  open.push(() => receiver.close());
  return { events, to: receiver.address };
}

function tensorsOf(events: readonly MemoryEvent[]): [string, boolean][] {
  return events.flatMap((event) => {
    if (event.type !== 'tensor') return [];
    const { name } = event.tensor;
    return [[name, contents[NAMES.indexOf(name)]!.equals(Buffer.from(event.bytes))]];
  });
}

const source = (): string => directoryWith(model);

describe('shards', () => {
  it.each([true, false])(
    'get what each receiver wants, and no more is sent (encrypted: %s)',
    async (encrypt) => {
      const [first, last] = [
        await shardReceiver({ tensors: ['layers.0'] }),
        await shardReceiver({ tensors: ['layers.2'] }),
      ];
      const summary = await castFile(source(), { to: [first.to, last.to], encrypt }).finished;
      expect(tensorsOf(first.events)).toEqual([['layers.0', true]]);
      expect(tensorsOf(last.events)).toEqual([['layers.2', true]]);
      for (const { events } of [first, last])
        expect(events.flatMap((event) => (event.type === 'file' ? event.entry.path : [])).sort()).toEqual([
          'root/config.json',
          'root/m.safetensors',
        ]);
      expect(summary.receivers.map(({ state }) => state)).toEqual(['complete', 'complete']);
      // The header is in the first block.
      expect(summary.transferredBytes).toBeLessThan(2 * TENSOR_BYTES + 8 * DELTA_BLOCK_BYTES);
      expect(summary.receivers[0]!.bytes).toBeLessThan(TENSOR_BYTES + 1000);
    },
  );

  it('that overlap come beside a receiver that stores everything', async () => {
    const [receiver] = await startReceivers(1);
    const shard = await shardReceiver({ tensors: ['layers.1'] });
    const summary = await castFile(source(), { to: [receiver!.to, shard.to] }).finished;
    expect(tensorsOf(shard.events)).toEqual([['layers.1', true]]);
    expect(summary.receivers).toMatchObject([
      { state: 'complete', files: 2 },
      { state: 'complete', files: 2 },
    ]);
    expect(namesIn(join(receiver!.directory, 'root'))).toEqual(['config.json', 'm.safetensors']);
  });

  it('come beside a receiver of everything in memory, and where nothing is compared', async () => {
    const all = await shardReceiver();
    const shard = await shardReceiver({ tensors: ['layers.1'] });
    await castFile(source(), { to: [all.to, shard.to] }).finished;
    await castFile(source(), { to: [shard.to], compare: 'none' }).finished;
    expect(tensorsOf(all.events)).toEqual(NAMES.map((name) => [name, true]));
    expect(tensorsOf(shard.events)).toEqual([
      ['layers.1', true],
      ['layers.1', true],
    ]);
  });

  it('may be ranges of any file', async () => {
    const range = { path: '*.safetensors', begin: 1_000_000, end: 1_500_000 };
    const shard = await shardReceiver({ ranges: [range] });
    const summary = await castFile(join(source(), 'm.safetensors'), { to: [shard.to] }).finished;
    const [file] = shard.events;
    expect(file).toMatchObject({ type: 'file', ranges: [{ begin: 1_000_000, end: 1_500_000 }] });
    const { bytes } = file as { bytes: Uint8Array };
    expect(
      Buffer.from(bytes.subarray(1_000_000, 1_500_000)).equals(model.subarray(1_000_000, 1_500_000)),
    ).toBe(true);
    expect(summary.transferredBytes).toBeLessThan(500_000 + 2 * DELTA_BLOCK_BYTES);
  });

  it('of a file that changes while it is sent: nothing of it is whole, and it is reported', async () => {
    const path = source();
    const shard = await shardReceiver({ tensors: ['layers.[12]'] });
    const cast = castFile(path, { to: [shard.to], ...slow });
    await until(cast, someReceived(0, TENSOR_BYTES / 10));
    const file = openSync(join(path, 'm.safetensors'), 'r+');
    writeSync(file, 'x', model.length - 1);
    closeSync(file);
    const { problems } = await cast.finished;
    expect(problems.map(({ code }) => code)).toContain('ERR_RDMC_FILE_CHANGED');
    const ofModel = shard.events.filter(({ entry }) => entry.path === 'root/m.safetensors');
    expect(ofModel.at(-1)?.type).toBe('failed');
    expect(ofModel.filter(({ type }) => type === 'file')).toEqual([]);
  });
});

const time = { seconds: 0, nanoseconds: 0 };
const entryOf = (path: string, size: number) => ({
  ...({ kind: 'file', path: Buffer.from(path), mode: 0o644, time, size } as const),
  ...{ target: Buffer.alloc(0), targetIndex: 0, digest: undefined },
});

describe('the answer which blocks are wanted', () => {
  it('has the header and the tensors, in whatever pieces the header comes', () => {
    const head = headLength(model, model.length);
    fc.assert(
      fc.property(fc.array(fc.nat(head)), fc.subarray(NAMES), (cuts, wanted) => {
        const answers = new PartAnswers(new WantedParts({ tensors: ['none', ...wanted] }));
        expect(answers.isPartly(7, entryOf('m.safetensors', model.length))).toBe(true);
        const bounds = [...new Set([0, ...cuts, head])].sort((a, b) => a - b);
        let answer: string | undefined;
        for (const [at, end] of bounds.slice(1).entries()) {
          const piece = model.subarray(bounds[at], end).toString('base64');
          answer = answers.head(7, bounds[at]!, piece, end === head);
          expect(answer === undefined).toBe(end < head);
        }
        const ranges = parseTensors(model.subarray(0, head), model.length).filter(({ name }) =>
          wanted.includes(name),
        );
        const here = new Coverage([{ begin: 0, end: head }, ...ranges]);
        const blocks = decodeHeld(answer!, deltaBlocks(model.length));
        for (let block = 0; block < blocks.blocks; block += 1) {
          const begin = block * DELTA_BLOCK_BYTES;
          expect(blocks.has(block)).toBe(here.within(begin, begin + DELTA_BLOCK_BYTES).length > 0);
        }
      }),
      { numRuns: 20 },
    );
  });

  it('has only the header where that is not valid', () => {
    const size = 10_000_000;
    const answers = new PartAnswers(new WantedParts({ tensors: ['a'] }));
    const bad = withHeader('{"a":1}');
    answers.isPartly(0, entryOf('m.safetensors', size));
    const blocks = decodeHeld(answers.head(0, 0, bad.toString('base64'), true)!, deltaBlocks(size));
    expect([blocks.count, blocks.has(0)]).toEqual([1, true]);
  });

  it('is not asked for small files, or for those that are wanted whole', () => {
    const answers = new PartAnswers(new WantedParts({ tensors: ['a'] }));
    expect(answers.isPartly(0, entryOf('m.safetensors', 1000))).toBe(false);
    expect(answers.isPartly(0, entryOf('m.bin', 10_000_000))).toBe(false);
  });

  it.each<[string, (answers: PartAnswers) => unknown]>([
    ['of another file', (answers) => answers.head(1, 0, '', true)],
    ['that is not the next one', (answers) => answers.head(0, 1, 'AAAA', false)],
    ['twice', (answers) => [answers.head(0, 0, '', true), answers.head(0, 0, '', true)]],
    ['that is too long', (answers) => answers.head(0, 0, 'A'.repeat(2 * HEAD_FRAME_BYTES), false)],
  ])('refuses a header %s', (_, act) => {
    const answers = new PartAnswers(new WantedParts({ tensors: ['a'] }));
    answers.isPartly(0, entryOf('m.safetensors', 10_000_000));
    expect(thrown(() => act(answers)).code).toBe('ERR_RDMC_CAST_PROTOCOL');
  });

  it('is refused at the sender where it does not fit', () => {
    const file = { index: 3, size: 10 * DELTA_BLOCK_BYTES, blocks: 10 };
    const bits = Buffer.from(new BlockSet(10).bits).toString('base64');
    const refused = (
      expected: [number, boolean],
      frame: { index: number; offset: number; data?: string },
    ) => {
      const answers = new BlockAnswers();
      void answers.expectWanted(file, ...expected);
      return thrown(() => answers.wanted({ type: 'wanted', ...frame })).code;
    };
    for (const wrong of [
      refused([0, true], { index: 4, offset: 0, data: bits }),
      refused([0, true], { index: 3, offset: 8, data: bits }),
      refused([0, true], { index: 3, offset: 0 }),
      refused([0, false], { index: 3, offset: 0, data: bits }),
      refused([0, true], { index: 3, offset: 0, data: 'AAAAAAAA' }),
      thrown(() => new BlockAnswers().wanted({ type: 'wanted', index: 0, offset: 0, data: bits })).code,
    ])
      expect(wrong).toBe('ERR_RDMC_CAST_PROTOCOL');
  });
});
