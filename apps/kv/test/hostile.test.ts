import { afterAll, beforeAll, expect, it } from 'vitest';
import { Standalone } from '../src/index.js';
import { encodeCommand } from './support/encode.js';
import { RawClient } from './support/raw-client.js';

let server: Standalone;
let good: RawClient;

beforeAll(async () => {
  server = await Standalone.start({ port: 0, maxClients: 50 });
  good = await RawClient.connect(server.port);
});
afterAll(async () => {
  good.close();
  await server.close();
});

async function expectOthersUnhurt(): Promise<void> {
  expect(await good.command('SET', 'good', 'x')).toBe('+OK\r\n');
  expect(await good.command('GET', 'good')).toBe('$1\r\nx\r\n');
}

it.each([
  ['a bulk string of 4 GiB', '*2\r\n$3\r\nGET\r\n$4294967296\r\n'],
  ['a negative length', '*1\r\n$-5\r\n'],
  ['two thousand million arguments', '*2000000000\r\n'],
  ['nested arrays', '*1\r\n*1\r\n*1\r\n*1\r\n'],
  ['a length without an end', `*1${'0'.repeat(200)}`],
  ['a line without an end', 'x'.repeat(70_000)],
  ['quotes that do not close', 'SET "a\r\n'],
])('%s gets a protocol error, and the connection ends', async (_, bytes) => {
  const client = await RawClient.connect(server.port);
  client.send(bytes);
  const received = await client.until(() => false);
  expect(received).toMatch(/^-ERR Protocol error: /);
  await expectOthersUnhurt();
});

it('what came before a protocol error is answered', async () => {
  const client = await RawClient.connect(server.port);
  client.send('PING\r\n*1\r\n$1\r\nx\r\n*1\r\n!');
  expect(await client.until(() => false)).toMatch(
    /^\+PONG\r\n-ERR unknown command 'x'.*\r\n-ERR Protocol error: /,
  );
});

it('half a command waits for the other half, and hurts nobody', async () => {
  const client = await RawClient.connect(server.port);
  const bytes = encodeCommand(['SET', 'half', 'y'.repeat(10_000)]).toString('latin1');
  client.send(bytes.slice(0, 5000));
  await expectOthersUnhurt();
  expect(client.received).toBe('');
  client.send(bytes.slice(5000));
  expect(await client.until((received) => received !== '')).toBe('+OK\r\n');
  expect(await good.command('STRLEN', 'half')).toBe(':10000\r\n');
  client.close();
});

it('an argument over the limit is refused, and the connection goes on', async () => {
  const client = await RawClient.connect(server.port);
  const reply = await client.command('SET', 'large', 'z'.repeat(2 * 1024 * 1024));
  expect(reply).toMatch(/^-ERR ERR_RDMC_ENTRY_TOO_LARGE /);
  expect(await client.command('EXISTS', 'large')).toBe(':0\r\n');
  client.close();
});

it('a client that does not read its replies is not read either, and memory stays bounded', async () => {
  const value = 'v'.repeat(1024 * 1024);
  expect(await good.command('SET', 'large', value)).toBe('+OK\r\n');
  const slow = await RawClient.connect(server.port);
  slow.socket.pause();
  const before = process.memoryUsage().arrayBuffers;
  let most = 0;
  const REPLIES = 500;
  // Kept, they were 500 MiB.
  const flood = Buffer.concat(Array.from({ length: REPLIES }, () => encodeCommand(['GET', 'large'])));
  slow.socket.write(flood);
  const handled = async (): Promise<number> =>
    Number(/total_commands_processed:(\d+)/.exec(await good.command('INFO', 'stats'))![1]);
  // Until the server has got something of it, and then for as long as it would take to do all of it.
  for (const start = await handled(); (await handled()) < start + 20; ) {
    most = Math.max(most, process.memoryUsage().arrayBuffers);
  }
  for (let i = 0; i < 20; i += 1) {
    await expectOthersUnhurt();
    most = Math.max(most, process.memoryUsage().arrayBuffers);
  }
  expect(most - before).toBeLessThan(200 * 1024 * 1024);
  // It reads after all, and gets everything.
  let bytes = 0;
  slow.socket.removeAllListeners('data');
  const all = REPLIES * (value.length + '$1048576\r\n\r\n'.length);
  const done = new Promise<void>((resolve) => {
    slow.socket.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes >= all) resolve();
    });
  });
  slow.socket.resume();
  await done;
  expect(bytes).toBe(all);
  slow.close();
}, 400_000);

it('more clients than the limit are told so', async () => {
  const limited = await Standalone.start({ port: 0, maxClients: 5 });
  const clients = await Promise.all(Array.from({ length: 8 }, () => RawClient.connect(limited.port)));
  const answers = await Promise.all(
    clients.map((client) => {
      client.send('PING\r\n');
      return client.until((received) => received.endsWith('\r\n'));
    }),
  );
  const expected = ['-ERR max number of clients reached\r\n', '+PONG\r\n'];
  expect(expected.map((text) => answers.filter((answer) => answer === text).length)).toEqual([3, 5]);
  // Where one goes, another one may come.
  clients[answers.indexOf('+PONG\r\n')]!.close();
  let reply = '';
  while (reply !== '+PONG\r\n') {
    const next = await RawClient.connect(limited.port);
    next.send('PING\r\n');
    reply = await next.until((received) => received.endsWith('\r\n'));
    next.close();
  }
  for (const client of clients) client.close();
  await limited.close();
});

it('a name is short, and has no blanks', async () => {
  const client = await RawClient.connect(server.port);
  for (const command of [
    ['CLIENT', 'SETNAME'],
    ['HELLO', '2', 'SETNAME'],
  ]) {
    expect(await client.command(...command, 'n'.repeat(257))).toMatch(/^-ERR Client names cannot be longer /);
    expect(await client.command(...command, 'a\nid=0')).toMatch(/^-ERR Client names cannot contain /);
  }
  expect(await client.command('CLIENT', 'SETNAME', 'n'.repeat(256))).toBe('+OK\r\n');
  client.close();
});

it('a pattern that takes too long is refused', async () => {
  expect(await good.command('SET', 'a'.repeat(1024 * 1024), '1')).toBe('+OK\r\n');
  expect(await good.command('KEYS', '*'.repeat(1025))).toMatch(/^-ERR a pattern is over 1024 bytes/);
  expect(await good.command('KEYS', `*${'a'.repeat(1000)}b`)).toMatch(/^-ERR too many keys for this /);
  expect(await good.command('KEYS', 'goo*')).toBe('*1\r\n$4\r\ngood\r\n');
  expect(await good.command('DEL', 'a'.repeat(1024 * 1024))).toBe(':1\r\n');
}, 180_000);

it('a slot with many keys is scanned in parts, and nothing that stays is missed', async () => {
  const names = Array.from({ length: 5000 }, (_, i) => `{t}${i}`);
  expect(await good.command('MSET', ...names.flatMap((name) => [name, 'x']))).toBe('+OK\r\n');
  const found = new Set<string>();
  let cursor = '0';
  for (let call = 0; call === 0 || cursor !== '0'; call += 1) {
    const lines = (await good.command('SCAN', cursor, 'COUNT', '50', 'MATCH', '{t}*')).split('\r\n');
    cursor = lines[2]!;
    const keys = lines.filter((line) => line.startsWith('{t}'));
    expect(keys.length).toBeLessThan(60);
    for (const key of keys) found.add(key);
    await good.command('SET', `{t}new:${call}`, 'x');
    await good.command('DEL', `{t}${4999 - call}`);
  }
  for (const name of names.slice(0, 2500)) expect(found).toContain(name);
}, 180_000);
