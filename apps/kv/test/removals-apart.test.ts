/** Removals while the log is full: they happen, whatever other clients write in the same turn. */
import { subscription } from '@rdmc/common';
import fc from 'fast-check';
import { expect, it, vi } from 'vitest';
import { INTERNAL_SESSION } from '../src/cluster/internal-session.js';
import { repliesIn, u32 } from '../src/cluster/peer-frames.js';
import { PeerSink } from '../src/cluster/peer-sink.js';
import { SlotTable } from '../src/cluster/slot-table.js';
import { createCommandTable } from '../src/commands/table.js';
import { RequestParser } from '../src/resp/parser.js';
import { Executor } from '../src/server/executor.js';
import type { Chunk, Sink } from '../src/server/sink.js';
import { Keyspace } from '../src/store/keyspace.js';
import { Store } from '../src/store/store.js';
import { encodeExec } from '../src/transactions/internal-commands.js';
import { Transaction } from '../src/transactions/transaction.js';
import { encodeCommand } from './support/encode.js';
import { HashModel } from './support/hash-model.js';
import { viewOf } from './support/manual-server.js';
import { contentOf, recover, slotOfKey } from './support/recorded-log.js';
import { requestHeader } from './support/request-header.js';
import { ShortLog } from './support/short-log.js';

const OOM = '-OOM ERR_RDMC_LOG_FULL no room\r\n';
const KEYS = ['a', 'b', 'c', 'd', 'e'];
const commands = createCommandTable();

/** Words of a command, or the commands of a transaction. */
type Line = readonly string[] | { readonly exec: readonly (readonly string[])[] };

interface Asked {
  readonly line: Line;
  /** No append was without its outcome between two commands of different epochs. */
  readonly epoch: number;
  reply: string | undefined;
}

function bytesOf(line: Line): Buffer {
  if (!('exec' in line)) return encodeCommand(line);
  const transaction = new Transaction();
  transaction.key = 'a';
  for (const words of line.exec) transaction.queue(words, 0, true);
  return encodeExec(transaction);
}

function namesOf(line: Line): readonly string[] {
  if ('exec' in line) return line.exec.flatMap(namesOf);
  return line[0] === 'FLUSHALL' ? KEYS : line.filter((word) => KEYS.includes(word));
}

/** The end of the reply that begins there. */
function endOfReply(text: string, at: number): number {
  let end = text.indexOf('\r\n', at) + 2;
  const count = Number(text.slice(at + 1, end - 2));
  if (text[at] === '$' && count >= 0) return end + count + 2;
  if (text[at] === '*') for (let i = 0; i < count; i += 1) end = endOfReply(text, end);
  return end;
}

/** Replies leave in order, as those of a connection. */
class Client implements Sink {
  readonly version = 2;
  readonly #parser = new RequestParser();
  #chunks: Chunk[] = [];
  #asked: Asked[] = [];

  constructor(private readonly executor: Executor) {}

  ask(pipeline: readonly Asked[]): void {
    this.#asked.push(...pipeline);
    this.executor.begin(this);
    for (const { line } of pipeline) {
      this.#parser.feed(bytesOf(line));
      this.#parser.next();
      const args = this.#parser.arguments;
      this.executor.run(commands.findOfServer(args)!, args, INTERNAL_SESSION);
    }
    this.executor.endRun();
  }

  take(chunk: Chunk): void {
    this.#chunks.push(chunk);
  }

  flush(acknowledged: number, turn: number): boolean {
    while (this.#chunks[0]?.isReady(acknowledged, turn)) {
      const text = this.#chunks.shift()!.bytes!.toString('latin1');
      for (let at = 0; at < text.length; ) {
        const end = endOfReply(text, at);
        this.#asked.shift()!.reply = text.slice(at, end);
        at = end;
      }
    }
    return this.#chunks.length > 0;
  }

  refuse(which: (chunk: Chunk) => boolean, error: string, all: boolean): void {
    this.#chunks = this.#chunks.map((chunk) => (which(chunk) ? chunk.failed(error, all) : chunk));
  }
}

/** Another server that asks: its replies come in any order, in frames. */
class Peer {
  #asked: Asked[] = [];
  readonly #sink: PeerSink;

  constructor(executor: Executor) {
    const connection = {
      bufferedBytes: 0,
      close: async () => {},
      onDrain: () => subscription(() => {}),
      send: (_type: number, ...parts: Uint8Array[]) => {
        for (const { id, reply } of repliesIn(Buffer.concat(parts)))
          this.#asked[id]!.reply = reply!.toString('latin1');
      },
    };
    this.#sink = new PeerSink(connection, executor, commands, () => true);
  }

  ask(pipeline: readonly Asked[]): void {
    const first = this.#asked.length;
    this.#asked.push(...pipeline);
    const parts = pipeline.flatMap(({ line }, i) => {
      const bytes = bytesOf(line);
      return [requestHeader(first + i, 2, bytes.length), bytes];
    });
    void this.#sink.run(Buffer.concat([u32(1), ...parts]));
  }
}

class Fixture {
  readonly log = new ShortLog();
  readonly store = new Store(new Keyspace(), this.log);
  readonly executor = new Executor(this.store, { valid: true }, viewOf(SlotTable.of(0)));
  readonly askers = [new Client(this.executor), new Client(this.executor), new Peer(this.executor)];
  /** In the order in which they ran. */
  readonly asked: Asked[] = [];
  #epoch = 0;

  ask(asker: number, ...lines: readonly Line[]): Asked[] {
    const pipeline = lines.map((line) => ({ line, epoch: this.#epoch, reply: undefined }));
    this.asked.push(...pipeline);
    this.askers[asker]!.ask(pipeline);
    return pipeline;
  }

  /** Everything that the log has said reaches the replies. */
  async settle(): Promise<void> {
    for (let i = 0; i < 5; i += 1) await Promise.resolve();
    if (this.store.lag.appends === 0 && this.store.batchBytes === 0) this.#epoch += 1;
  }

  /** Nothing waits any more. */
  async end(): Promise<void> {
    for (let i = 0; i < 3; i += 1) {
      this.executor.end();
      this.log.cleaned();
      await this.settle();
      this.log.acknowledge(Number.POSITIVE_INFINITY);
      await this.settle();
    }
    this.executor.end();
  }
}

class Model {
  readonly #model = new HashModel();

  get keys(): HashModel['keys'] {
    return this.#model.keys;
  }

  run(line: Line): string {
    if ('exec' in line)
      return `*${line.exec.length}\r\n${line.exec.map((words) => this.run(words)).join('')}`;
    const [name, ...rest] = line;
    const { keys } = this;
    switch (name) {
      case 'FLUSHALL':
        keys.clear();
        return '+OK\r\n';
      case 'DBSIZE':
        return `:${keys.size}\r\n`;
      case 'MSET':
        for (let i = 0; i < rest.length; i += 2) keys.set(rest[i]!, rest[i + 1]!);
        return '+OK\r\n';
      case 'DEL':
        return `:${rest.filter((key) => keys.delete(key)).length}\r\n`;
      case 'EXISTS':
        return `:${rest.filter((key) => keys.has(key)).length}\r\n`;
      case 'MGET':
        return `*${rest.length}\r\n${rest.map((key) => this.#string(key)).join('')}`;
      case 'EXPIRE':
        return `:${keys.delete(rest[0]!) ? 1 : 0}\r\n`;
      case 'GETDEL': {
        const reply = this.#model.run(['GET', rest[0]!]);
        if (!reply.startsWith('-')) keys.delete(rest[0]!);
        return reply;
      }
      default:
        return this.#model.run(line);
    }
  }

  #string(key: string): string {
    return typeof this.keys.get(key) === 'string' ? this.#model.run(['GET', key]) : '$-1\r\n';
  }
}

const key = fc.constantFrom(...KEYS);
const field = fc.constantFrom('f', 'g');
const value = fc.nat(99).map(String);
const some = fc.array(key, { minLength: 2, maxLength: 3 });
const command: fc.Arbitrary<readonly string[]> = fc.oneof(
  { weight: 3, arbitrary: fc.tuple(key, value).map(([k, v]) => ['SET', k, v]) },
  { weight: 4, arbitrary: key.map((k) => ['DEL', k]) },
  some.map((list) => ['DEL', ...list]),
  fc.array(fc.tuple(key, value), { minLength: 1, maxLength: 2 }).map((list) => ['MSET', ...list.flat()]),
  key.map((k) => ['GETDEL', k]),
  key.map((k) => ['EXPIRE', k, '-1']),
  key.map((k) => ['GET', k]),
  some.map((list) => ['MGET', ...list]),
  some.map((list) => ['EXISTS', ...list]),
  fc.tuple(key, field, value).map(([k, f, v]) => ['HSET', k, f, v]),
  { weight: 2, arbitrary: fc.tuple(key, field).map(([k, f]) => ['HDEL', k, f]) },
  key.map((k) => ['HDEL', k, 'f', 'g']),
  key.map((k) => ['HLEN', k]),
  fc.tuple(key, field).map(([k, f]) => ['HGET', k, f]),
);
const line: fc.Arbitrary<Line> = fc.oneof(
  { weight: 10, arbitrary: command },
  fc.array(command, { minLength: 1, maxLength: 3 }).map((exec) => ({ exec })),
  fc.constantFrom(['FLUSHALL'], ['DBSIZE']),
);
type Step = (fixture: Fixture) => unknown;
const ask = fc.tuple(fc.nat(2), fc.array(line, { minLength: 1, maxLength: 4 }));
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: ask.map(
      ([asker, lines]): Step =>
        (f) =>
          f.ask(asker, ...lines),
    ),
  },
  { weight: 4, arbitrary: fc.constant<Step>((f) => f.executor.end()) },
  fc.nat(3).map(
    (count): Step =>
      (f) =>
        f.log.acknowledge(count),
  ),
  fc.nat(2).map((room): Step => {
    return ({ log }) => {
      log.room = room;
    };
  }),
  fc.boolean().map((isCleaning): Step => {
    return ({ log }) => {
      if (isCleaning) log.isCleaning = true;
      else log.cleaned();
    };
  }),
);
const steps = fc.array(step, { maxLength: 40 });

async function filled(): Promise<Fixture> {
  const fixture = new Fixture();
  fixture.log.room = Number.POSITIVE_INFINITY;
  fixture.ask(0, ['MSET', 'a', '1', 'b', '2', 'c', '3'], ['HSET', 'd', 'f', '4', 'g', '5']);
  await fixture.end();
  fixture.log.room = 0;
  return fixture;
}

async function run(fixture: Fixture, list: readonly Step[]): Promise<void> {
  for (const each of list) {
    each(fixture);
    await fixture.settle();
  }
  await fixture.end();
}

/** What was not refused happened, in this order; what was refused did not. */
async function expectWhole({ asked, store, log }: Fixture): Promise<void> {
  const model = new Model();
  for (const { line: words, reply } of asked) {
    if (reply !== OOM) expect([words, reply]).toEqual([words, model.run(words)]);
  }
  expect(contentOf(store)).toEqual(model.keys);
  expect(contentOf(await recover(log.entries))).toEqual(model.keys);
  expect(store.keyspace.removed.size).toBe(0);
}

/** Only where the key was changed before by a command that was refused. */
function expectRemovals({ asked }: Fixture): void {
  asked.forEach(({ line: words, epoch, reply }, index) => {
    if ('exec' in words || words[0] !== 'DEL' || words.length > 2 || reply !== OOM) return;
    const earlier = asked.slice(0, index).filter((each) => each.epoch === epoch && each.reply === OOM);
    expect(earlier.flatMap((each) => namesOf(each.line))).toContain(words[1]);
  });
}

it('removals of single keys happen, nothing is half done, and reads see what happened', async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (list) => {
      const fixture = await filled();
      await run(fixture, list);
      await expectWhole(fixture);
      expectRemovals(fixture);
    }),
    { numRuns: 200 },
  );
});

it('nothing is half done where the log is short of room only sometimes, or does not know it', async () => {
  const toggle = fc.boolean().map((isShort): Step => {
    return ({ log }) => {
      log.isShort = isShort;
    };
  });
  const list = fc.array(fc.oneof({ weight: 4, arbitrary: step }, toggle), { maxLength: 40 });
  await fc.assert(
    fc.asyncProperty(list, async (each) => {
      const fixture = await filled();
      await run(fixture, each);
      await expectWhole(fixture);
    }),
    { numRuns: 200 },
  );
});

/** Replies of commands, in the order of the lines; each asker's lines are together. */
function repliesOf(asked: readonly Asked[]): (string | undefined)[] {
  return asked.map(({ reply }) => reply?.replace(OOM, 'OOM').trimEnd());
}

it('a DEL happens beside the SETs of others, and of its own pipeline, in a turn', async () => {
  const fixture = await filled();
  const asked = [
    ...fixture.ask(0, ['SET', 'x', '1'], ['DEL', 'a'], ['SET', 'y', '1'], ['DEL', 'b']),
    ...fixture.ask(1, ['DEL', 'c']),
    ...fixture.ask(2, ['SET', 'z', '1'], ['DEL', 'd']),
  ];
  await fixture.end();
  expect(repliesOf(asked)).toEqual(['OOM', ':1', 'OOM', ':1', ':1', 'OOM', ':1']);
  await expectWhole(fixture);
});

it('a DEL that waits behind a write for the cleaner happens where that gets no room', async () => {
  const fixture = await filled();
  fixture.log.isCleaning = true;
  const asked = [...fixture.ask(0, ['SET', 'x', '1'])];
  fixture.executor.end();
  asked.push(...fixture.ask(1, ['DEL', 'a'], ['DEL', 'b']));
  fixture.executor.end();
  // Not sent yet.
  asked.push(...fixture.ask(2, ['DEL', 'c'], ['SET', 'y', '1']));
  const settled = fixture.store.settled();
  asked.push(...fixture.ask(1, ['DEL', 'd']));
  fixture.log.cleaned();
  await fixture.settle();
  let isOver = false;
  void settled.then(() => {
    isOver = true;
  });
  await fixture.settle();
  expect(isOver).toBe(false);
  await fixture.end();
  await settled;
  expect(repliesOf(asked)).toEqual(['OOM', ':1', ':1', ':1', 'OOM', ':1']);
  await expectWhole(fixture);
});

it('a removal that another one needs goes with it, and those beside it in the turn stay', async () => {
  const fixture = await filled();
  fixture.log.isCleaning = true;
  const asked = [...fixture.ask(0, ['SET', 'a', '9'], ['HSET', 'd', 'f', '9'])];
  fixture.executor.end();
  asked.push(...fixture.ask(1, ['DEL', 'b']));
  asked.push(...fixture.ask(0, ['DEL', 'c', 'a'], ['HDEL', 'd', 'g']));
  await fixture.end();
  expect(repliesOf(asked)).toEqual(['OOM', 'OOM', ':1', 'OOM', 'OOM']);
  await expectWhole(fixture);
});

it('FLUSHALL and DBSIZE do not count on the removals of a transaction that is refused', async () => {
  const fixture = await filled();
  // In the slot of a: of the changes of their number, the last one does not tell of those before it.
  fixture.log.room = 1;
  fixture.ask(0, ['SET', '{a}1', '1']);
  await fixture.end();
  fixture.log.isCleaning = true;
  const removeAndSet = [
    ['DEL', 'a'],
    ['SET', '{a}e', '1'],
  ];
  const asked = fixture.ask(0, { exec: removeAndSet }, ['DEL', '{a}e'], ['DEL', '{a}1'], ['DBSIZE']);
  asked.push(...fixture.ask(1, ['FLUSHALL']));
  await fixture.end();
  expect(repliesOf(asked)).toEqual(['OOM', 'OOM', ':1', 'OOM', 'OOM']);
  expect([...contentOf(fixture.store).keys()].sort()).toEqual(['a', 'b', 'c', 'd']);
  const again = fixture.ask(0, ['FLUSHALL'], ['SET', 'x', '1']);
  await fixture.end();
  expect(repliesOf(again)).toEqual(['+OK', 'OOM']);
  expect(fixture.store.keyspace.size).toBe(0);
});

it('DBSIZE does not count a key whose SET is refused, also where another change of its slot is later', async () => {
  const fixture = await filled();
  fixture.log.isCleaning = true;
  const asked = [...fixture.ask(0, ['SET', '{a}1', '1']), ...fixture.ask(1, ['DEL', 'a'], ['DBSIZE'])];
  await fixture.end();
  expect(repliesOf(asked)).toEqual(['OOM', ':1', 'OOM']);
  expect(fixture.store.keyspace.size).toBe(3);
});

it('DBSIZE does not wait for an append that was refused', async () => {
  const fixture = await filled();
  fixture.log.isShort = false;
  const refused = fixture.ask(0, ['SET', 'a', '9'], ['DEL', 'a']);
  fixture.executor.end();
  const asked = fixture.ask(1, ['DBSIZE']);
  fixture.executor.end();
  expect(repliesOf([...refused, ...asked])).toEqual(['OOM', 'OOM', ':4']);
});

it('DBSIZE does not wait for a refused change of a value that one before it has waited for', async () => {
  const fixture = await filled();
  // Which change was the last one of the slot is not known any more.
  const asked = [...fixture.ask(0, ['SET', '{a}1', '1'])];
  fixture.executor.end();
  fixture.log.isCleaning = true;
  asked.push(...fixture.ask(0, ['SET', 'a', '9'], ['DBSIZE']));
  fixture.executor.end();
  fixture.log.cleaned();
  await fixture.settle();
  asked.push(...fixture.ask(0, ['DBSIZE']));
  fixture.executor.end();
  expect(repliesOf(asked)).toEqual(['OOM', 'OOM', 'OOM', ':4']);
});

it('keys that expire are removed beside the SETs of others', async () => {
  const fixture = await filled();
  fixture.log.room = 1;
  const at = Date.now() + 1_000_000;
  fixture.ask(0, ['PEXPIREAT', 'a', String(at)], ['PEXPIREAT', 'b', String(at)]);
  await fixture.end();
  const asked = [...fixture.ask(0, ['SET', 'x', '1'])];
  // As the sweep does.
  for (const key of ['a', 'b']) fixture.store.find(slotOfKey(key), key, at);
  asked.push(...fixture.ask(1, ['SET', 'y', '1']));
  await fixture.end();
  expect(repliesOf(asked)).toEqual(['OOM', 'OOM']);
  expect([...contentOf(fixture.store).keys()].sort()).toEqual(['c', 'd']);
});

it('a write behind a transaction that was given up is refused with the writes before it', async () => {
  const fixture = await filled();
  const { log } = fixture;
  log.isCleaning = true;
  const asked = [...fixture.ask(0, ['SET', 'b', '8'])];
  fixture.executor.end();
  // An append has room for this alone.
  const large = 'x'.repeat(log.maxAppendBytes - 30);
  const [givenUp] = fixture.ask(0, {
    exec: [
      ['DEL', 'a'],
      ['SET', 'a', large],
    ],
  });
  fixture.executor.end();
  log.isShort = false;
  asked.push(...fixture.ask(1, ['SET', 'b', '9']));
  fixture.executor.end();
  log.cleaned();
  log.room = 1;
  await fixture.end();
  expect(givenUp!.reply).toMatch(/^-ERR ERR_RDMC_ENTRY_TOO_LARGE /);
  expect(repliesOf(asked)).toEqual(['OOM', 'OOM']);
  for (const store of [fixture.store, await recover(log.entries)]) {
    expect([contentOf(store).get('a'), contentOf(store).get('b')]).toEqual(['1', '2']);
  }
});

it('commands that do not remove keys do not look at those that others remove', async () => {
  const fixture = await filled();
  fixture.ask(0, ['DEL', 'a', 'b', 'c']);
  const get = vi.spyOn(fixture.store.keyspace, 'get');
  fixture.ask(1, ['PING'], ['DBSIZE']);
  expect(get).not.toHaveBeenCalled();
});

it('while the log has room, the writes and removals of a turn are one append', async () => {
  const fixture = await filled();
  fixture.log.isShort = false;
  fixture.log.room = 1;
  const before = fixture.log.appends.length;
  fixture.ask(0, ['SET', 'x', '1'], ['DEL', 'a'], ['SET', 'y', '1']);
  fixture.ask(1, ['DEL', 'b', 'c']);
  await fixture.end();
  expect(fixture.log.appends.slice(before)).toEqual([5]);
});

it('while it is short of room, removals of single keys are in one append still', async () => {
  const fixture = await filled();
  const before = fixture.log.appends.length;
  fixture.ask(0, ['DEL', 'a'], ['HDEL', 'd', 'f']);
  fixture.ask(1, ['DEL', 'b']);
  await fixture.end();
  expect(fixture.log.appends.slice(before)).toEqual([3]);
});
