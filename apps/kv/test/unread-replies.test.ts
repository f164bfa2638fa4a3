/** How much of a client's commands runs as long as the client does not read their replies, wherever these are made. */
import type { Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { INTERNAL_SESSION } from '../src/cluster/internal-session.js';
import type { PeerLinks } from '../src/cluster/peer-links.js';
import { ReplyMerge } from '../src/cluster/reply-merge.js';
import { SlotTable } from '../src/cluster/slot-table.js';
import {
  FLUSH_STEP_KEYS,
  LONG_REPLY_BYTES,
  MATCH_STEPS_PER_TURN,
  PAUSE_OUTPUT_BYTES,
  REPLY_BYTES_PER_STEP,
  SLOTS,
} from '../src/limits.js';
import { Arguments } from '../src/resp/arguments.js';
import { CommandError } from '../src/resp/command-error.js';
import { Client } from '../src/server/client.js';
import { UnfinishedCommands } from '../src/server/unfinished-commands.js';
import { slotOf } from '../src/store/slot.js';
import { encodeCommand } from './support/encode.js';
import { FakeLink } from './support/fake-link.js';
import { FakeSocket } from './support/fake-socket.js';
import { type ManualServer, startManualServer } from './support/manual-server.js';

const slot = (key: string): number => slotOf(Buffer.from(key), 0, key.length);
const bulk = (value: string): string => `$${value.length}\r\n${value}\r\n`;
const encode = (lines: readonly string[]): Buffer =>
  Buffer.concat(lines.map((line) => encodeCommand(line.split(' '))));
/** Two of them are more than a client may leave unread. */
const VALUE = 'v'.repeat(PAUSE_OUTPUT_BYTES / 2 + 1);
/** More turns than anything here takes. */
const MANY_TURNS = 50;

let table: SlotTable;
let link: FakeLink;
let manual: ManualServer;
let socket: FakeSocket;
let pages: { words: readonly string[]; resolve: (reply: Buffer) => void }[];
/** The names of the commands that ran here. */
let ran: string[];

beforeEach(async () => {
  link = new FakeLink();
  const peers = {
    link: (member: number) => (member === 2 ? link : undefined),
    flush() {},
    onLinked() {},
  } as unknown as PeerLinks;
  table = new SlotTable();
  own(1, { near: 0, far: 2 });
  pages = [];
  const admin = {
    run: (words: readonly string[]): Promise<Buffer> =>
      new Promise((resolve) => {
        pages.push({ words, resolve });
      }),
  };
  manual = await startManualServer({ peers, table, admin });
  const { executor, router } = manual;
  ran = [];
  const attempt = executor.attempt.bind(executor);
  vi.spyOn(executor, 'attempt').mockImplementation((command, ...more) => {
    ran.push((command as { name?: string }).name ?? '');
    attempt(command, ...more);
  });
  socket = new FakeSocket(false);
  const host = {
    executor,
    unfinished: new UnfinishedCommands(),
    dispatch: (client: Client) => router.dispatch(client),
    closed() {},
  };
  new Client(1, socket as unknown as Socket, host, true);
  await send(`SET near ${VALUE}`);
  manual.log.acknowledge();
  await rest();
  expect(socket.drain()).toBe('+OK\r\n');
  ran = [];
});
afterEach(async () => {
  manual.router.close();
  await manual.server.close();
});

function own(epoch: number, owners: Record<string, number>): void {
  const ranges = Object.entries(owners).map(([key, member]) => ({ from: slot(key), to: slot(key), member }));
  table.update(epoch, ranges);
}

/** All that can be done without the client and other servers is done. */
async function rest(): Promise<void> {
  for (let i = 0; i < MANY_TURNS; i += 1) await turn();
}

async function send(...lines: readonly string[]): Promise<void> {
  socket.emit('data', encode(lines));
  await rest();
}

const times = <T>(count: number, ...items: readonly T[]): T[] => Array(count).fill(items).flat();
const count = (name: string): number => ran.filter((each) => each === name).length;

it('one EXEC runs whose reply is more than a client may leave unread, and the next one when it is read', async () => {
  await send(...times(10, 'MULTI', 'GET near', 'GET near', 'EXEC'));
  const replies = `+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n${times(2, bulk(VALUE)).join('')}`;
  for (let done = 1; done <= 10; done += 1) {
    expect(count('rdmc.exec')).toBe(done);
    expect(socket.drain() === replies).toBe(true);
    await rest();
  }
  expect(count('rdmc.exec')).toBe(10);
});

it('one part of a command with keys of several servers runs here, likewise', async () => {
  await send(...times(10, 'MGET far near near'));
  for (let done = 1; done <= 10; done += 1) {
    expect([count('mget'), link.sent.length]).toEqual([done, 1]);
    link.answer(link.sent.pop()!, `*1\r\n${bulk('x')}`);
    await rest();
    expect(socket.drain() === `*3\r\n${bulk('x')}${bulk(VALUE)}${bulk(VALUE)}`).toBe(true);
    await rest();
  }
  expect(link.sent.length).toBe(0);
});

it('few replies of another server that may be long are asked for; one at a time where they are long', async () => {
  await send(...times(100, 'MGET far'));
  const atFirst = PAUSE_OUTPUT_BYTES / LONG_REPLY_BYTES + 1;
  expect(link.sent.length).toBe(atFirst);
  for (const request of link.sent.splice(0)) link.answer(request, `*1\r\n${bulk(VALUE + VALUE)}`);
  await rest();
  expect(link.sent.length).toBe(0);
  socket.drain();
  await rest();
  expect(link.sent.length).toBe(1);
});

it('many replies of another server are asked for where those before were short, or where each is one value', async () => {
  await send(...times(200, 'MGET far'));
  let [rounds, most] = [0, 0];
  for (; link.sent.length > 0; rounds += 1) {
    most = Math.max(most, link.sent.length);
    for (const request of link.sent.splice(0)) link.answer(request, '*1\r\n$-1\r\n');
    await rest();
    socket.drain();
    await rest();
  }
  expect(most).toBeGreaterThan(100);
  expect(rounds).toBeLessThan(8);
  await send(...times(500, 'GET far'));
  expect(link.sent.length).toBe(500);
});

it("the client's next command waits for a page of a snapshot", async () => {
  await send(...times(3, 'rdmc.admin SNAPSHOT 0 0 16383'), 'PING');
  for (let done = 1; done <= 3; done += 1) {
    expect(pages.map(({ words }) => words[0])).toEqual(times(done, 'SNAPSHOT'));
    expect(ran).toEqual([]);
    pages.at(-1)!.resolve(Buffer.from('$1\r\np\r\n'));
    await rest();
  }
  expect(socket.drain()).toBe('$1\r\np\r\n'.repeat(3).concat('+PONG\r\n'));
});

it('requests that waited for their slot, and run here, run in several turns', async () => {
  own(2, { far: 2 });
  const perTurn = Math.ceil((MATCH_STEPS_PER_TURN * REPLY_BYTES_PER_STEP) / VALUE.length);
  await send(...times(2 * perTurn, 'GET near'), 'SET near x', 'GET near');
  expect(ran).toEqual([]);
  own(3, { near: 0, far: 2 });
  expect(count('get')).toBe(perTurn);
  await rest();
  manual.log.acknowledge();
  await rest();
  expect(count('get')).toBe(2 * perTurn + 1);
  expect(socket.drain() === `${bulk(VALUE).repeat(2 * perTurn)}+OK\r\n${bulk('x')}`).toBe(true);
});

it('FLUSHALL goes on to its end where its client has gone', async () => {
  const { store, log } = manual;
  table.update(2, [{ from: 0, to: SLOTS - 1, member: 0 }]);
  for (let i = 0; i < 2 * FLUSH_STEP_KEYS; i += 1) store.put(slot('near'), `key:${i}`, '1', 0);
  store.commit();
  await send('FLUSHALL');
  socket.destroy();
  for (let step = 0; step < 4; step += 1) {
    log.acknowledge();
    await rest();
  }
  expect(store.keyspace.size).toBe(0);
});

it('requests run no more in one turn where more tables come in it', async () => {
  own(2, { far: 2 });
  const perTurn = Math.ceil((MATCH_STEPS_PER_TURN * REPLY_BYTES_PER_STEP) / VALUE.length);
  await send(...times(2 * perTurn, 'GET near'));
  for (const epoch of [3, 4, 5]) own(epoch, { near: 0, far: 2 });
  expect(count('get')).toBe(perTurn);
  await rest();
  expect(count('get')).toBe(2 * perTurn);
});

it('a reply that is given up is effort: others have a turn', () => {
  const { executor } = manual;
  const run = (bytes: number): void => {
    const fail = (): never => {
      executor.writer.raw(Buffer.alloc(bytes));
      throw new CommandError('ERR too much');
    };
    executor.attempt({ flags: [], isBrief: false, run: fail }, new Arguments(), INTERNAL_SESSION);
  };
  executor.begin({ version: 2, take() {}, flush: () => false, refuse() {} });
  run(MATCH_STEPS_PER_TURN * REPLY_BYTES_PER_STEP - 1);
  expect(executor.mustYield).toBe(false);
  run(1);
  expect(executor.mustYield).toBe(true);
  expect(executor.writer.end().toString()).toBe('-ERR too much\r\n'.repeat(2));
});

it('the parts of a reply count for the client until it is whole; for one that has gone, none is kept', () => {
  let held = 0;
  let hasGone = false;
  const hold = (bytes: number): boolean => {
    held += bytes;
    return !hasGone;
  };
  const replies: string[] = [];
  const merged = (): ReplyMerge =>
    new ReplyMerge([{ positions: [0] }, { positions: [1] }], 'positions', { hold }, (reply) =>
      replies.push(reply.toString()),
    );
  const part = Buffer.from('*1\r\n$1\r\nx\r\n');
  const first = merged();
  first.take(0, part);
  expect(held).toBe(part.length);
  first.take(1, part);
  expect(held).toBe(0);
  expect(replies).toEqual(['*2\r\n$1\r\nx\r\n$1\r\nx\r\n']);
  hasGone = true;
  const second = merged();
  for (const index of [0, 1]) second.take(index, part);
  expect(replies[1]).toMatch(/^-ERR /);
});
