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
  client.send(bytes.slice(5000));
  await client.until((received) => received === '+OK\r\n');
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
  // Two thousand replies of a mebibyte: kept, they were 2 GiB.
  const flood = Buffer.concat(Array.from({ length: 2000 }, () => encodeCommand(['GET', 'large'])));
  slow.socket.write(flood);
  for (let i = 0; i < 20; i += 1) await expectOthersUnhurt();
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(200 * 1024 * 1024);
  // It reads after all, and gets everything.
  let bytes = 0;
  slow.socket.removeAllListeners('data');
  const all = 2000 * (value.length + '$1048576\r\n\r\n'.length);
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
});

it('more clients than the limit are told so', async () => {
  const clients = await Promise.all(Array.from({ length: 60 }, () => RawClient.connect(server.port)));
  const refused = clients.filter(({ socket }) => socket.readable);
  expect(refused.length).toBeGreaterThan(0);
  const last = clients.at(-1)!;
  expect(await last.until(() => false)).toBe('-ERR max number of clients reached\r\n');
  for (const client of clients) client.close();
  await expectOthersUnhurt();
});
