/** Servers that ask each other: what is large, what breaks, and what no server sends. */
import { once } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import { Deferred } from '@rdmc/common';
import { KeyedSockets } from '@rdmc/mesh/sockets';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { PEER_PURPOSE, PeerFrame, u32 } from '../src/cluster/peer-frames.js';
import { slotOf } from '../src/store/slot.js';
import { encodeCommand } from './support/encode.js';
import { PeerPair } from './support/peer-pair.js';
import { requestHeader } from './support/request-header.js';

const MIB = 1024 * 1024;
const LARGE = 'v'.repeat(MIB);
let pair: PeerPair;

beforeEach(async () => {
  pair = await PeerPair.start();
});
afterEach(() => pair.close());

function requests(...commands: Buffer[]): Buffer {
  const parts = commands.flatMap((bytes, id) => [requestHeader(id, 2, bytes.length), bytes]);
  return Buffer.concat([u32(1), ...parts]);
}

it('answers more in one turn than a frame may hold', async () => {
  expect(await pair.ask([['SET', 'large', LARGE]])).toEqual(['+OK\r\n']);
  const replies = await pair.ask(Array.from({ length: 80 }, () => ['GET', 'large']));
  expect(replies.every(({ length }) => length === MIB + '$1048576\r\n\r\n'.length)).toBe(true);
  expect(pair.lostRequests).toBe(0);
});

it('takes more commands in one turn than a call may have arguments', async () => {
  const replies = await pair.ask(Array.from({ length: 80_000 }, (_, i) => ['GET', `k${i}`]));
  expect(new Set(replies)).toEqual(new Set(['$-1\r\n']));
}, 180_000);

it('runs no more for a server that does not read its replies, and goes on when it does', async () => {
  await pair.ask([['SET', 'large', LARGE]]);
  const before = pair.runs;
  const slow = await pair.faulty();
  const gets = Array.from({ length: 100 }, () => encodeCommand(['GET', 'large']));
  slow.connection.send(PeerFrame.REQUESTS, requests(...gets));
  while (pair.runs === before) await turn();
  for (let i = 0; i < 100; i += 1) await turn();
  expect(pair.runs - before).toBeLessThan(50);
  expect(await pair.ask([['GET', 'nothing']])).toEqual(['$-1\r\n']);
  slow.read();
  await slow.until(100);
  expect(slow.replies).toBe(100);
});

it('gives others a turn where replies are too large to be sent, and given up', async () => {
  await pair.ask([['SET', 'large', LARGE]]);
  const { executor } = pair;
  const hadToYield: boolean[] = [];
  const endRun = executor.endRun.bind(executor);
  executor.endRun = (length) => {
    hadToYield.push(executor.mustYield);
    endRun(length);
  };
  const tooLarge = ['MGET', ...Array(25).fill('large')];
  const replies = await pair.ask([tooLarge, tooLarge, tooLarge]);
  for (const reply of replies) expect(reply).toMatch(/^-ERR a reply between servers is over /);
  // After the second one, and not after the third.
  expect(hadToYield).toEqual([true, false]);
});

it('makes a connection again that broke, and says what was lost with it', async () => {
  expect(await pair.ask([['SET', 'k', '1']])).toEqual(['+OK\r\n']);
  const again = pair.linkedAgain();
  for (const connection of pair.accepted) void connection.close();
  await again;
  expect(await pair.ask([['GET', 'k']])).toEqual(['$1\r\n1\r\n']);
});

it('runs nothing for slots that it does not own, and says so', async () => {
  const own = slotOf(Buffer.from('mine'), 0, 4);
  pair.isOwn = (slot) => slot === own;
  const commands = [
    ['SET', 'theirs', '1'],
    ['SET', 'mine', '2'],
    ['MSET', 'mine', '1', 'theirs', '1'],
    ['GET', 'theirs'],
  ];
  expect(await pair.ask(commands)).toEqual(['-REFUSED\r\n', '+OK\r\n', '-REFUSED\r\n', '-REFUSED\r\n']);
  expect(pair.runs).toBe(1);
  expect(pair.store.keyspace.size).toBe(1);
});

describe('of a server that has a newer slot table', () => {
  const own = slotOf(Buffer.from('mine'), 0, 4);
  let table: Deferred<void>;
  beforeEach(() => {
    table = new Deferred();
    pair.table = table.promise;
    pair.isOwn = (slot) => slot === own;
  });

  it('runs what it has the slots of, and the rest in order when it has the table', async () => {
    const replies: string[] = [];
    const ask = (text: string): Promise<number> =>
      pair.ask([text.split(' ')]).then(([reply]) => replies.push(`${text}: ${reply!.trim()}`));
    const asked = ['SET theirs 1', 'SET mine 1', 'APPEND theirs 2', 'GET theirs'].map(ask);
    await asked[1];
    // In a later frame.
    expect(await pair.ask([['GET', 'mine']])).toEqual(['$1\r\n1\r\n']);
    expect(replies).toEqual(['SET mine 1: +OK']);
    asked.push(ask('DBSIZE'));
    pair.isOwn = () => true;
    table.resolve();
    await Promise.all(asked);
    expect(replies.slice(1)).toEqual([
      'SET theirs 1: +OK',
      'APPEND theirs 2: :2',
      'GET theirs: $2\r\n12',
      'DBSIZE: :2',
    ]);
  });

  it('keeps requests of a slot in order when an earlier table gives it the slot', async () => {
    const asked = [pair.ask([['SET', 'theirs', '1']])];
    await pair.ask([['SET', 'mine', '1']]);
    pair.isOwn = () => true;
    asked.push(pair.ask([['APPEND', 'theirs', '2']]), pair.ask([['GET', 'theirs']]));
    await pair.ask([['GET', 'mine']]);
    expect(pair.store.keyspace.size).toBe(1);
    table.resolve();
    expect((await Promise.all(asked)).flat()).toEqual(['+OK\r\n', ':2\r\n', '$2\r\n12\r\n']);
  });

  it('keeps requests of a slot in order while those that were held are run', async () => {
    const many = Array.from({ length: 200 }, (_, i) => pair.ask([['APPEND', 'theirs', `${i};`]]));
    await pair.ask([['SET', 'mine', '1']]);
    Object.defineProperty(pair.executor, 'mustYield', { get: () => true });
    pair.isOwn = () => true;
    table.resolve();
    pair.table = undefined;
    many.push(pair.ask([['APPEND', 'theirs', 'last']]));
    await Promise.all(many);
    const text = `${Array.from({ length: 200 }, (_, i) => `${i};`).join('')}last`;
    expect(await pair.ask([['GET', 'theirs']])).toEqual([`$${text.length}\r\n${text}\r\n`]);
  });

  it('runs what follows a held command for all slots after it', async () => {
    const all = pair.ask([['FLUSHALL']]);
    const after = pair.ask([['SET', 'mine', '1']]);
    pair.isOwn = () => true;
    table.resolve();
    expect((await Promise.all([all, after])).flat()).toEqual(['+OK\r\n', '+OK\r\n']);
    expect(await pair.ask([['GET', 'mine']])).toEqual(['$1\r\n1\r\n']);
  });

  it('refuses what is not its own by that table either', async () => {
    const asked = pair.ask([['SET', 'theirs', '1']]);
    await pair.ask([['SET', 'mine', '1']]);
    table.resolve();
    expect(await asked).toEqual(['-REFUSED\r\n']);
  });

  it('ends the connection at once where a request that has waited cannot be run', async () => {
    const faulty = await pair.faulty();
    faulty.connection.send(PeerFrame.REQUESTS, requests(encodeCommand(['SET', 'theirs', '1'])));
    await pair.ask([['SET', 'mine', '1']]);
    pair.isOwn = () => true;
    pair.executor.run = () => {
      throw new Error('for the test');
    };
    table.resolve();
    await faulty.ended();
  });

  it('runs nothing that has waited when the connection has ended', async () => {
    const faulty = await pair.faulty();
    faulty.connection.send(PeerFrame.REQUESTS, requests(encodeCommand(['SET', 'theirs', '1'])));
    await pair.ask([['SET', 'mine', '1']]);
    const [, accepted] = pair.accepted;
    await faulty.connection.close();
    await accepted!.closed;
    pair.isOwn = () => true;
    table.resolve();
    await turn();
    expect(await pair.ask([['GET', 'theirs']])).toEqual(['$-1\r\n']);
  });
});

it('does not connect again with a member that is gone', async () => {
  expect(await pair.ask([['GET', 'k']])).toEqual(['$-1\r\n']);
  const closed = once(pair.asking.link(2)!.signal, 'abort');
  pair.meshes[0].reportFailure(2, 'for the test');
  await closed;
  await turn();
  expect(pair.asking.link(2)).toBeUndefined();
  expect(pair.accepted.length).toBe(1);
});

const half = encodeCommand(['SET', 'k', 'v']).subarray(0, 20);
const gets = Buffer.concat([encodeCommand(['GET', 'k']), encodeCommand(['GET', 'k'])]);
const bad: [string, number, Buffer][] = [
  ['a frame of an unknown type', 77, u32(1)],
  ['requests without an epoch', PeerFrame.REQUESTS, Buffer.alloc(0)],
  ['a request that ends early', PeerFrame.REQUESTS, Buffer.concat([u32(1), u32(7)])],
  ['a length beyond its frame', PeerFrame.REQUESTS, Buffer.concat([u32(1), requestHeader(1, 2, 99)])],
  ['half a command', PeerFrame.REQUESTS, requests(half)],
  ['two commands in one request', PeerFrame.REQUESTS, requests(gets)],
  ['an unknown command', PeerFrame.REQUESTS, requests(encodeCommand(['NOSUCH', 'k']))],
  ['a command without its arguments', PeerFrame.REQUESTS, requests(encodeCommand(['SET', 'k']))],
  ['a command of a connection', PeerFrame.REQUESTS, requests(encodeCommand(['CLIENT', 'SETNAME', 'x']))],
  ['no RESP', PeerFrame.REQUESTS, requests(Buffer.from('*1\r\n!'))],
];

describe('what no server sends ends the connection, and hurts nobody else', () => {
  it.each(bad)('%s', async (_, type, payload) => {
    const faulty = await pair.faulty();
    faulty.read();
    faulty.connection.send(type, payload);
    await faulty.ended();
    expect(faulty.replies).toBe(0);
    expect(await pair.ask([['GET', 'k']])).toEqual(['$-1\r\n']);
    expect(pair.lostRequests).toBe(0);
  });
});

describe('with a cluster key', () => {
  const key = 'a cluster key of some length';
  let keyed: PeerPair;
  beforeEach(async () => {
    keyed = await PeerPair.start(key);
  });
  afterEach(() => keyed.close());

  it('servers talk, and whoever does not have the key of the mesh is not heard', async () => {
    expect(await keyed.ask([['SET', 'k', 'mine']])).toEqual(['+OK\r\n']);
    for (const other of ['another key of some length', key]) {
      const sockets = new KeyedSockets({ key: other, purpose: PEER_PURPOSE });
      await expect(sockets.connect({ host: '127.0.0.1', port: keyed.port })).rejects.toMatchObject({
        code: 'ERR_RDMC_MESH_WRONG_KEY',
      });
    }
    expect(keyed.accepted.length).toBe(1);
    expect(await keyed.ask([['GET', 'k']])).toEqual(['$4\r\nmine\r\n']);
  });
});
