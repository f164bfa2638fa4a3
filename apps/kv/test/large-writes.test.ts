/** Large writes of different clients in one turn: each is judged alone, and they become as many appends as they need. */
import { subscription } from '@rdmc/common';
import type { LogEntry } from '@rdmc/tailwind';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { INTERNAL_SESSION } from '../src/cluster/internal-session.js';
import { repliesIn, u32 } from '../src/cluster/peer-frames.js';
import { type PeerConnection, PeerSink } from '../src/cluster/peer-sink.js';
import { SlotTable } from '../src/cluster/slot-table.js';
import { createCommandTable } from '../src/commands/table.js';
import { stringOf } from '../src/commands/value.js';
import { RequestParser } from '../src/resp/parser.js';
import { Executor } from '../src/server/executor.js';
import type { Chunk, Sink } from '../src/server/sink.js';
import { Keyspace } from '../src/store/keyspace.js';
import { decodeRecord } from '../src/store/record.js';
import { Store } from '../src/store/store.js';
import { encodeCommand } from './support/encode.js';
import { appendBytes, ManualLog, viewOf } from './support/manual-server.js';
import { requestHeader } from './support/request-header.js';

const TOO_LARGE = /^-ERR ERR_RDMC_ENTRY_TOO_LARGE /;

/** A client whose replies leave in order, as those of a connection do. */
class Replies implements Sink {
  readonly version = 2;
  #chunks: Chunk[] = [];
  #text = '';

  take(chunk: Chunk): void {
    this.#chunks.push(chunk);
  }

  flush(acknowledged: number, turn: number): boolean {
    while (this.#chunks[0]?.isReady(acknowledged, turn)) {
      this.#text += this.#chunks.shift()!.bytes!.toString('latin1');
    }
    return this.#chunks.length > 0;
  }

  refuse(which: (chunk: Chunk) => boolean, error: string, all: boolean): void {
    this.#chunks = this.#chunks.map((chunk) => (which(chunk) ? chunk.failed(error, all) : chunk));
  }

  get lines(): string[] {
    return this.#text.split('\r\n').slice(0, -1);
  }
}

const commands = createCommandTable();

/** Another server that asks: its replies come in any order, in frames. */
class Peer {
  readonly #replies = new Map<number, string>();
  readonly #sink: PeerSink;

  constructor(executor: Executor) {
    const connection: PeerConnection = {
      bufferedBytes: 0,
      close: async () => {},
      onDrain: () => subscription(() => {}),
      send: (_type, ...parts) => {
        for (const { id, reply } of repliesIn(Buffer.concat(parts)))
          this.#replies.set(id, reply!.toString('latin1').trimEnd());
      },
    };
    this.#sink = new PeerSink(connection, executor, commands, () => true);
  }

  async ask(pipeline: readonly string[][]): Promise<void> {
    const parts = pipeline
      .map(encodeCommand)
      .flatMap((bytes, id) => [requestHeader(id, 2, bytes.length), bytes]);
    await this.#sink.run(Buffer.concat([u32(1), ...parts]));
  }

  get lines(): string[] {
    return [...this.#replies].sort(([a], [b]) => a - b).map(([, reply]) => reply);
  }
}

class Fixture {
  readonly log: ManualLog;
  readonly store: Store;
  readonly executor: Executor;
  readonly #parser = new RequestParser();

  constructor(maxAppendBytes: number) {
    this.log = new ManualLog(maxAppendBytes);
    this.store = new Store(new Keyspace(), this.log);
    this.executor = new Executor(this.store, { valid: true }, viewOf(SlotTable.of(0)));
  }

  /** What each client sends comes in one turn; resolves with the lines of their replies when all are there. */
  async turn(pipelines: readonly (readonly string[][])[], from = 'clients'): Promise<string[][]> {
    const sinks = pipelines.map((pipeline) => {
      if (from === 'servers') {
        const peer = new Peer(this.executor);
        void peer.ask(pipeline);
        return peer;
      }
      const sink = new Replies();
      this.executor.begin(sink);
      for (const words of pipeline) {
        this.#parser.feed(encodeCommand(words));
        this.#parser.next();
        const args = this.#parser.arguments;
        this.executor.run(commands.find(args)!, args, INTERNAL_SESSION);
      }
      this.executor.endRun();
      return sink;
    });
    this.executor.end();
    this.log.acknowledge();
    await new Promise((resolve) => setImmediate(resolve));
    this.executor.end();
    return sinks.map(({ lines }) => lines);
  }

  value(key: string): string | undefined {
    return stringOf(this.executor.look(this.executor.slot(argumentsOf(key), 1), key));
  }
}

function argumentsOf(key: string) {
  const parser = new RequestParser();
  parser.feed(encodeCommand(['GET', key]));
  parser.next();
  return parser.arguments;
}

/** What the log counts for keys and values in one append. */
function alone(words: readonly string[]): number {
  const [, ...rest] = words;
  let bytes = 0;
  for (let i = 0; i < rest.length; i += 2) bytes += 12 + 12 + 2 + rest[i]!.length + rest[i + 1]!.length;
  return bytes;
}

/** A key whose removal would not fit is not taken either. */
function fits(words: readonly string[], most: number): boolean {
  return alone(words) <= most && words.every((word, i) => i % 2 === 0 || 12 + 16 + 1 + word.length <= most);
}

function keysIn(entries: readonly LogEntry[]): string[] {
  return entries.map(({ type, parts }) => decodeRecord(type, Buffer.concat(parts))!.key);
}

let lastKey = 0;
/** Keys are used once, so that it can be told which writes happened. */
const key = fc.nat(60).map((length) => {
  lastKey += 1;
  return `k${lastKey}`.padEnd(length, '-');
});

function writesFor(most: number) {
  const value = fc
    .oneof(fc.nat(40), fc.integer({ min: Math.max(0, most - 140), max: most + 20 }), fc.nat(most))
    .map((length) => 'v'.repeat(length));
  const set = fc.tuple(key, value).map(([name, text]) => ['SET', name, text]);
  const pairs = fc.array(fc.tuple(key, value), { minLength: 1, maxLength: 4 });
  const mset = pairs.map((list) => ['MSET', ...list.flat()]);
  return fc.array(fc.array(fc.oneof(set, mset), { maxLength: 5 }), { minLength: 1, maxLength: 5 });
}

const turns = fc
  .integer({ min: 200, max: 20_000 })
  .chain((most) => fc.tuple(fc.constant(most), writesFor(most)));

const who = fc.constantFrom('clients', 'servers');

describe('writes of many sizes in one turn', () => {
  it('are refused only where they do not fit alone; a command is in one append', async () => {
    await fc.assert(
      fc.asyncProperty(turns, who, async ([most, pipelines], from) => {
        const fixture = new Fixture(most);
        const replies = await fixture.turn(pipelines, from);
        const appends = fixture.log.appends.map(keysIn);
        for (const entries of fixture.log.appends) expect(appendBytes(entries)).toBeLessThanOrEqual(most);
        pipelines.forEach((pipeline, client) => {
          pipeline.forEach((words, i) => {
            const keys = words.slice(1).filter((_, at) => at % 2 === 0);
            const reply = replies[client]![i]!;
            if (fits(words, most)) {
              expect(reply).toBe('+OK');
              expect(appends.filter((names) => names.some((name) => keys.includes(name))).length).toBe(1);
            } else {
              expect(reply).toMatch(TOO_LARGE);
              expect(reply).toContain(`the limit of ${most} `);
              expect(keys.map((name) => fixture.value(name))).toEqual(keys.map(() => undefined));
            }
          });
        });
      }),
    );
  });

  it('happened exactly where their reply says so, when the log takes only the first appends', async () => {
    await fc.assert(
      fc.asyncProperty(turns, fc.nat(8), fc.boolean(), who, async ([most, pipelines], taken, later, from) => {
        const fixture = new Fixture(most);
        fixture.log.refuseFrom(taken, later);
        const replies = await fixture.turn(pipelines, from);
        const written = new Set(fixture.log.appends.slice(0, taken).flatMap(keysIn));
        pipelines.forEach((pipeline, client) => {
          pipeline.forEach((words, i) => {
            const names = words.slice(1).filter((_, at) => at % 2 === 0);
            const happened = replies[client]![i] === '+OK';
            for (const name of names) {
              expect(written.has(name)).toBe(happened);
              expect(fixture.value(name) !== undefined).toBe(happened);
            }
          });
        });
      }),
      { numRuns: 200 },
    );
  });
});

it('a SET of 900 KB beside an MSET of two values of 1 MB: both are done', async () => {
  const fixture = new Fixture(Math.floor((8 * 1024 * 1024 - 64) / 4));
  const [large, value] = ['x'.repeat(900_000), 'y'.repeat(1_000_000)];
  const replies = await fixture.turn([[['SET', 'a', large]], [['MSET', 'b', value, 'c', value]]]);
  expect(replies).toEqual([['+OK'], ['+OK']]);
  expect(fixture.log.appends.map(keysIn)).toEqual([['a'], ['b', 'c']]);
});

it('a write behind which another one got room and failed is done, without any more of that turn', async () => {
  const fixture = new Fixture(2000);
  // Its value would fit, its removal would not: it is refused after the append before it was closed.
  const long = 'k'.repeat(1974);
  const replies = await fixture.turn([[['SET', 'a', 'x'.repeat(100)]], [['MSET', long, '']]]);
  expect(replies).toEqual([['+OK'], [expect.stringMatching(TOO_LARGE)]]);
  expect(fixture.log.appends.map(keysIn)).toEqual([['a']]);
  expect(fixture.store.batchBytes).toBe(0);
  expect(await fixture.turn([[['SET', 'b', '1']]])).toEqual([['+OK']]);
});

it('a DEL of keys that no append has room for together removes them', async () => {
  const fixture = new Fixture(2000);
  const keys = ['a', 'b', 'c'].map((letter) => letter.repeat(900));
  await fixture.turn([keys.map((name) => ['SET', name, '1'])]);
  expect(await fixture.turn([[['DEL', ...keys]]])).toEqual([[':3']]);
  expect(fixture.store.keyspace.size).toBe(0);
});
