import { randomUUID } from 'node:crypto';
import { mkdirSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { readShape } from '@rdmc/common/shapes';
import { encodeFrame } from '@rdmc/mesh/sockets';
import { type Random, temporaryDirectory } from '@rdmc/testing';
import { describe, expect, it } from 'vitest';
import { CAST_PROTOCOL_VERSION } from '../src/constants.js';
import { ControlChannel } from '../src/control/control-channel.js';
import { shapes } from '../src/control/frames.js';
import { CastError } from '../src/errors.js';
import { DurableWriter } from '../src/writer/durable-writer.js';
import type { SyncPort } from '../src/writer/sync-port.js';
import { corpus, damage, fuzz } from './support/fuzz.js';
import { hostileRecords, relabelled, repaired } from './support/hostile-records.js';
import { CHECKSUM } from './support/local-cast.js';
import { encode } from './support/records.js';
import { describeTree, write } from './support/tree.js';

/** Limit of the memory that one input may add to the process. */
const MOST_GROWTH_BYTES = 256 * 1024 * 1024;
const LIMIT_MS = 180_000 + 1000 * Number(process.env.RDMC_TEST_FUZZ_SECONDS ?? 0);

/** Returns the code of its error, if it fails; an error without a code of these packages is thrown. */
async function codeOf(work: () => Promise<unknown>): Promise<string | undefined> {
  try {
    await work();
    return undefined;
  } catch (error) {
    if (error instanceof CastError) return error.code;
    throw error;
  }
}

/** Runs a test, and checks that memory stays bounded. */
async function bounded(work: () => Promise<void>): Promise<void> {
  const before = process.memoryUsage().rss;
  await work();
  expect(process.memoryUsage().rss - before).toBeLessThan(MOST_GROWTH_BYTES);
}

const noSync: SyncPort = { file: async () => {}, data: async () => {}, directory: async () => {} };

/** A receiving directory, and a file outside it that must not change. */
class Place {
  readonly #root = temporaryDirectory();
  readonly #outside = join(this.#root, 'outside');
  readonly #inside = join(this.#root, 'inside');
  readonly #before: Map<string, string>;

  constructor() {
    write(this.#outside, 'precious', 'do not touch');
    write(this.#outside, 'a/b', 'nor this');
    this.#before = describeTree(this.#outside);
  }

  async store(message: Buffer): Promise<void> {
    mkdirSync(this.#inside);
    symlinkSync(this.#outside, join(this.#inside, 'trap'));
    write(this.#inside, 'kept/a');
    const writer = new DurableWriter(this.#inside, randomUUID(), CHECKSUM, noSync);
    const code = await codeOf(async () => {
      await writer.store(0, message);
      await writer.finish(1);
    });
    await writer.close();
    if (code !== undefined) expect(code).toMatch(/^ERR_RDMC_[A-Z_]+$/);
    expect(readdirSync(this.#inside).filter((name) => name.startsWith('.rdmc-cast-'))).toEqual([]);
    expect(readdirSync(this.#root)).toEqual(['inside', 'outside']);
    expect(describeTree(this.#outside)).toEqual(this.#before);
    rmSync(this.#inside, { recursive: true });
  }
}

function hostileMessage(random: Random): Buffer {
  const message = Buffer.from(encode(hostileRecords(random), 0));
  const kind = random.below(6);
  if (kind < 3) return message;
  if (kind === 3) return repaired(relabelled(message, random));
  return kind === 4 ? repaired(damage(message, random)) : damage(message, random);
}

describe('messages of records', () => {
  const what = 'hostile ones give errors with codes, and nothing is written outside';
  it(what, { timeout: LIMIT_MS }, () =>
    bounded(async () => {
      const place = new Place();
      await fuzz(hostileMessage, (message) => place.store(message));
    }),
  );

  it.each(corpus('messages'))('%s', (_title, message) => bounded(() => new Place().store(message)));
});

const STRANGE = [
  -1,
  0.5,
  2 ** 60,
  Number.MAX_VALUE,
  null,
  true,
  '',
  'x'.repeat(5_000),
  [],
  {},
  [[]],
  '../..',
  '\0',
];
const FRAMES: readonly object[] = [
  { type: 'call', version: CAST_PROTOCOL_VERSION, software: 'fuzz' },
  { type: 'part', groupId: 1 },
  { type: 'finish', messages: 1, files: 1, bytes: 1, remove: false },
  { type: 'offer', first: 0, count: 1, data: 'AAAA' },
  { type: 'compared', first: 0, states: 'AAAA' },
  { type: 'surplus', count: 1, paths: ['a/b'], last: true, resumedBytes: 1, roomBytes: 2 },
  { type: 'hashes', index: 1, first: 0, data: 'AAAA' },
  { type: 'held', index: 1, first: 0, data: 'AAAA' },
  { type: 'unbuilt', entries: [1, 2], last: true },
  { type: 'head', index: 1, offset: 0, data: 'AAAA', last: true },
  { type: 'wanted', index: 1, offset: 0, data: 'AAAA' },
  { type: 'check' },
  { type: 'offered', files: 1, directories: 0, links: 0, bytes: 1 },
  {
    type: 'group',
    group: { id: 1, stream: 0, members: [0, 1], algorithm: 'chain', blockBytes: 'auto' },
    nextMessage: 0,
  },
  { type: 'outline', groupId: 1, message: 1, sha256: '0f'.repeat(32) },
  { type: 'abort', code: 'ERR_RDMC_ABORTED', message: 'over' },
  { type: 'progress', receivedMessages: 1, partialBytes: 1, storedMessages: 1, writerBusyMs: 1 },
  { type: 'parted', groupId: 1, receivedMessages: 1 },
  {
    type: 'members',
    id: 1,
    members: [
      { id: 0, host: '127.0.0.1', port: 1 },
      { id: 1, host: '127.0.0.1', port: 2 },
    ],
    messageBytes: 65_536,
  },
  {
    ...{ type: 'done', files: 1, directories: 0, links: 0, bytes: 1, problemCount: 1 },
    ...{ keptBytes: 0, unchangedFiles: 0, unchangedBytes: 0, removed: 0 },
    problems: [{ path: 'a', code: 'ERR_RDMC_WRITE_FAILED', message: 'no' }],
  },
];

/** A frame with a strange value, a field too many or too few, or nested deep. */
function hostileFrame(random: Random): Buffer {
  const frame = structuredClone(random.of(FRAMES)) as Record<string, unknown>;
  const key = random.of(Object.keys(frame));
  if (random.below(2) === 0) frame[key] = random.of(STRANGE);
  if (random.below(8) === 0) delete frame[key];
  if (random.below(8) === 0) frame[random.of(['more', 'constructor', '__proto__'])] = 1;
  const text = random.below(30) === 0 ? '['.repeat(50_000) : JSON.stringify(frame);
  const version = random.below(20) === 0 ? random.below(256) : CAST_PROTOCOL_VERSION;
  return encodeFrame(version, Buffer.from(text));
}

function hostileStream(random: Random): Buffer {
  const stream = Buffer.concat(random.some(4, () => hostileFrame(random)));
  return random.below(2) === 0 ? stream : damage(stream, random);
}

/** Reads frames from bytes that come in pieces. */
async function readAll(stream: Buffer, cut: () => number): Promise<void> {
  for (const shape of [shapes.sender, shapes.receiver]) {
    const pieces: Buffer[] = [];
    for (let at = 0, next = 0; at < stream.length; at = next) {
      next = at + 1 + cut();
      pieces.push(stream.subarray(at, next));
    }
    const socket = Readable.from(pieces) as unknown as Socket;
    const channel = new ControlChannel<object, object>(socket, shape, 'the fuzzer');
    const code = await codeOf(async () => {
      for await (const frame of channel) expect(readShape<object>(shape, frame)).toEqual(frame);
    });
    expect([undefined, 'ERR_RDMC_CAST_PROTOCOL', 'ERR_RDMC_VERSION_MISMATCH']).toContain(code);
  }
}

describe('control frames', () => {
  it('hostile ones give errors with codes, or frames that are valid', { timeout: LIMIT_MS }, () =>
    bounded(() => fuzz(hostileStream, (stream, random) => readAll(stream, () => random.below(2_000)))),
  );

  it.each(corpus('control-frames'))('%s', (_title, stream) => bounded(() => readAll(stream, () => 7)));
});
