/** Where commands go when slots change hands meanwhile: with links that are in the test's hand. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { PeerLinks } from '../src/cluster/peer-links.js';
import type { Request } from '../src/cluster/request.js';
import { SlotTable } from '../src/cluster/slot-table.js';
import { SLOTS } from '../src/limits.js';
import { slotOf } from '../src/store/slot.js';
import { encodeCommand } from './support/encode.js';
import { FakeLink, wordsOf } from './support/fake-link.js';
import { type ManualServer, startManualServer } from './support/manual-server.js';
import { RawClient } from './support/raw-client.js';

const slot = (key: string): number => slotOf(Buffer.from(key), 0, key.length);
const bulk = (value: string): string => `$${value.length}\r\n${value}\r\n`;

let links: Map<number, FakeLink>;
let table: SlotTable;
let manual: ManualServer;
let client: RawClient;
/** Tells the router that a connection was made again. */
let linked: () => void;

beforeEach(async () => {
  links = new Map([2, 3].map((member) => [member, new FakeLink()]));
  const peers = {
    link: (member: number) => links.get(member),
    flush() {},
    onLinked: (listener: () => void) => {
      linked = listener;
    },
  } as unknown as PeerLinks;
  table = new SlotTable();
  assign(1, { a: 2, b: 2, c: 2 });
  manual = await startManualServer({ peers, table });
  client = await RawClient.connect(manual.server.port);
});
afterEach(async () => {
  client.close();
  manual.router.close();
  await manual.server.close();
});

function assign(epoch: number, owners: Record<string, number>): void {
  const ranges = Object.entries(owners).map(([key, member]) => ({ from: slot(key), to: slot(key), member }));
  table.update(epoch, ranges);
}

it('a command with many keys is split again where its keys come to lie at several servers', async () => {
  client.send('MGET a b c\r\n');
  const first = await links.get(2)!.next();
  expect(wordsOf(first)).toEqual(['MGET', 'a', 'b', 'c']);
  assign(2, { a: 2, b: 0, c: 3 });
  links.get(2)!.refuse(first);
  const [toTwo, toThree] = await Promise.all([links.get(2)!.next(), links.get(3)!.next()]);
  expect([wordsOf(toTwo), wordsOf(toThree)]).toEqual([
    ['MGET', 'a'],
    ['MGET', 'c'],
  ]);
  links.get(3)!.answer(toThree, `*1\r\n${bulk('of c')}`);
  links.get(2)!.answer(toTwo, `*1\r\n${bulk('of a')}`);
  const expected = `*3\r\n${bulk('of a')}$-1\r\n${bulk('of c')}`;
  expect(await client.until((text) => text.length >= expected.length)).toBe(expected);
});

it('no key of another server is written here because the first one is ours by now', async () => {
  client.send('MSET a 1 b 2\r\n');
  const first = await links.get(2)!.next();
  assign(2, { a: 0, b: 3 });
  links.get(2)!.refuse(first);
  const toThree = await links.get(3)!.next();
  expect(wordsOf(toThree)).toEqual(['MSET', 'b', '2']);
  links.get(3)!.answer(toThree, '+OK\r\n');
  await manual.log.made(1);
  expect(manual.store.keyspace.get(slot('b'), 'b')).toBeUndefined();
  manual.log.acknowledge();
  expect(await client.until((text) => text !== '')).toBe('+OK\r\n');
});

it('what waited for a connection goes on when there is one again', async () => {
  const link = links.get(2)!;
  links.delete(2);
  client.send('GET a\r\n');
  const other = await RawClient.connect(manual.server.port);
  expect(await other.command('PING')).toBe('+PONG\r\n');
  other.close();
  links.set(2, link);
  linked();
  link.answer(await link.next(), '+value\r\n');
  expect(await client.until((text) => text !== '')).toBe('+value\r\n');
});

it('what one client has others do is bounded in bytes, and goes on when they have done it', async () => {
  const value = 'v'.repeat(1024 * 1024);
  for (let i = 0; i < 12; i += 1) client.send(encodeCommand(['SET', 'a', value]).toString());
  const link = links.get(2)!;
  const sent: Request[] = [];
  for (let i = 0; i < 4; i += 1) sent.push(await link.next());
  const other = await RawClient.connect(manual.server.port);
  for (let i = 0; i < 20; i += 1) expect(await other.command('PING')).toBe('+PONG\r\n');
  other.close();
  expect(link.sent.length).toBe(0);
  for (const request of sent) link.answer(request, '+OK\r\n');
  for (let i = 4; i < 12; i += 1) link.answer(await link.next(), '+OK\r\n');
  expect(await client.until((text) => text.length >= 60)).toBe('+OK\r\n'.repeat(12));
});

it('a client that does not read what others answer is disconnected', async () => {
  client.socket.pause();
  for (let i = 0; i < 300; i += 1) client.send('GET a\r\n');
  const large = Buffer.from(bulk('v'.repeat(1024 * 1024)));
  const link = links.get(2)!;
  const sent: Request[] = [];
  for (let i = 0; i < 300; i += 1) sent.push(await link.next());
  for (const request of sent) link.answer(request, large);
  const other = await RawClient.connect(manual.server.port);
  while ((await other.command('INFO', 'clients')).includes('connected_clients:2')) {
    expect(await other.command('PING')).toBe('+PONG\r\n');
  }
  other.close();
});

it('where too much waits for a server, more is refused', async () => {
  links.get(2)!.isFull = true;
  client.send('SET a 1\r\n');
  expect(await client.until((text) => text !== '')).toMatch(/^-TRYAGAIN ERR_RDMC_LOG_BACKPRESSURE /);
});

it('of what was on a connection that broke, a write is not sent again, and a read is', async () => {
  const link = links.get(2)!;
  const commands = [
    ['SET', 'a', '1'],
    ['GET', 'a'],
    ['INCR', 'b'],
  ];
  client.send(Buffer.concat(commands.map(encodeCommand)).toString());
  const sent = [await link.next(), await link.next(), await link.next()];
  expect(sent.map(({ writes }) => writes)).toEqual([true, false, true]);
  for (const request of sent) link.lose(request);
  linked();
  const again = await link.next();
  expect(wordsOf(again)).toEqual(['GET', 'a']);
  link.answer(again, '$-1\r\n');
  const reply = await client.until((text) => text.split('\r\n').length > 3);
  expect(reply).toMatch(/^-UNKNOWN ERR_RDMC_KV_OUTCOME_UNKNOWN .*\r\n\$-1\r\n-UNKNOWN .*\r\n$/);
  expect(link.sent).toEqual([]);
});

it('a command does not run here before an earlier one of its slot that the former server has not answered', async () => {
  client.send('SET a 1\r\n');
  const first = await links.get(2)!.next();
  assign(2, { a: 0, b: 0, c: 2 });
  client.send('APPEND a 2\r\nSET b 1\r\n');
  await manual.log.made(1);
  expect(manual.store.keyspace.get(slot('a'), 'a')).toBeUndefined();
  links.get(2)!.refuse(first);
  await manual.log.made(2);
  manual.log.acknowledge();
  expect(await client.until((text) => text.split('\r\n').length > 3)).toBe('+OK\r\n:2\r\n+OK\r\n');
});

it('commands wait behind one that was refused, until there is a newer table', async () => {
  const link = links.get(2)!;
  const send = (...words: string[]): void => client.send(encodeCommand(words).toString());
  send('SET', 'a', '1');
  link.refuse(await link.next());
  send('APPEND', 'a', '2');
  send('SET', 'b', '1');
  const passing = await link.next();
  expect(wordsOf(passing)).toEqual(['SET', 'b', '1']);
  link.answer(passing, '+OK\r\n');
  linked();
  expect(link.sent).toEqual([]);
  assign(2, { a: 3, b: 2, c: 2 });
  const toThree = links.get(3)!;
  expect(toThree.sent.map(wordsOf)).toEqual([
    ['SET', 'a', '1'],
    ['APPEND', 'a', '2'],
  ]);
});

it('a command on all keys is refused while an earlier command waits', async () => {
  table.update(1, [{ from: 0, to: SLOTS - 1, member: 2 }]);
  const link = links.get(2)!;
  client.send('SET a 1\r\n');
  link.refuse(await link.next());
  client.send('DBSIZE\r\nSET b 1\r\n');
  link.answer(await link.next(), '+OK\r\n');
  table.update(2, [{ from: 0, to: SLOTS - 1, member: 0 }]);
  await manual.log.made(1);
  manual.log.acknowledge();
  const reply = await client.until((text) => text.split('\r\n').length > 3);
  expect(reply).toMatch(/^\+OK\r\n-TRYAGAIN ERR_RDMC_KV_SLOTS_MOVE .*\r\n\+OK\r\n$/);
});

it.each(['refuse', 'lose'] as const)(
  'a command on all keys is refused if an earlier command is repeated after it: %s',
  async (how) => {
    table.update(1, [{ from: 0, to: SLOTS - 1, member: 2 }]);
    const link = links.get(2)!;
    client.send('GET a\r\nDBSIZE\r\n');
    const [earlier, count] = [await link.next(), await link.next()];
    link[how](earlier);
    link.answer(count, ':7\r\n');
    table.update(2, [{ from: 0, to: SLOTS - 1, member: 2 }]);
    link.answer(await link.next(), '+value\r\n');
    const reply = await client.until((text) => text.split('\r\n').length > 2);
    expect(reply).toMatch(/^\+value\r\n-TRYAGAIN ERR_RDMC_KV_SLOTS_MOVE .*\r\n$/);
  },
);
