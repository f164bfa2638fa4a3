import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect as connectTo, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { connect as connectWithTls } from 'node:tls';
import { until } from '@rdmc/testing';
import { afterEach, expect, it, vi } from 'vitest';
import { CLIENT_END_MS } from '../src/limits.js';
import { Client, type ClientHost } from '../src/server/client.js';
import { ClientPort, type ServerTls } from '../src/server/client-port.js';
import type { Chunk } from '../src/server/sink.js';
import { UnfinishedCommands } from '../src/server/unfinished-commands.js';
import { CommandRunner } from './support/command-runner.js';
import { ManualLog } from './support/manual-server.js';
import { RawClient } from './support/raw-client.js';

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

async function open(maxClients: number, tls?: ServerTls): Promise<ClientPort> {
  const port = await ClientPort.listen({ host: '127.0.0.1', port: 0, maxClients, tls });
  closers.push(() => port.close());
  return port;
}

async function connect(port: ClientPort): Promise<RawClient> {
  const client = await RawClient.connect(port.port);
  closers.push(() => client.close());
  return client;
}

it('clients that come before the server wait, and lose nothing of what they sent', async () => {
  const port = await open(3);
  const early = [await connect(port), await connect(port), await connect(port)];
  for (const client of early) client.send('PING\r\n');
  const refused = await connect(port);
  expect(await refused.until(() => false)).toBe('-ERR max number of clients reached\r\n');
  port.serve((socket: Socket) => socket.on('data', (bytes: Buffer) => socket.write(bytes)));
  for (const client of early) expect(await client.until((text) => text !== '')).toBe('PING\r\n');
});

it('a client that waits is disconnected when the server does not come', async () => {
  const port = await open(3);
  const client = await connect(port);
  const closed = once(client.socket, 'close');
  await port.close();
  await closed;
});

/** A server that repeats words, and waits for the test to answer `first`. */
function repeating(): {
  readonly host: ClientHost;
  first?: { readonly client: Client; readonly place: Chunk };
} {
  const { executor } = new CommandRunner(new ManualLog());
  const dispatch = (client: Client): void => {
    const word = client.parser.arguments.string(0);
    if (word === 'first') {
      executor.endRun();
      server.first = { client, place: client.expect(5, true) };
      executor.begin(client);
    } else executor.say(word);
  };
  const host: ClientHost = { executor, unfinished: new UnfinishedCommands(), dispatch, closed() {} };
  const server: ReturnType<typeof repeating> = { host };
  return server;
}

it('the bytes behind a command that a client waits for stay, whatever others send meanwhile', async () => {
  const port = await open(2);
  const server = repeating();
  const { host } = server;
  port.serve((socket) => new Client(1, socket, host, true));
  const [one, other] = [await connect(port), await connect(port)];
  one.send('first\r\nsecond\r\nthird\r\nfou');
  await until(() => server.first !== undefined);
  other.send('x'.repeat(100));
  other.send('\r\n');
  await other.until((text) => text !== '');
  server.first!.client.answer(server.first!.place, Buffer.from('+first\r\n'), 5);
  one.send('rth\r\n');
  expect(await one.until((text) => text.includes('fourth'))).toBe(
    '+first\r\n+second\r\n+third\r\n+fourth\r\n',
  );
});

it('commands that are held when a client with TLS ends its side are answered', async () => {
  const pem = readFileSync(new URL('support/loopback.pem', import.meta.url));
  const port = await open(1, { cert: pem, key: pem });
  const server = repeating();
  let ended: Promise<unknown> | undefined;
  port.serve((socket) => {
    ended = once(socket, 'end');
    new Client(1, socket, server.host, true);
  });
  const socket = connectWithTls({ host: '127.0.0.1', port: port.port, ca: pem });
  closers.push(() => socket.destroy());
  socket.end('first\r\nsecond\r\nthird\r\n');
  await until(() => server.first !== undefined);
  await ended;
  server.first!.client.answer(server.first!.place, Buffer.from('+first\r\n'), 5);
  expect(await text(socket)).toBe('+first\r\n+second\r\n+third\r\n');
});

it('a client that gets the reply to QUIT and does not end its side is disconnected', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  closers.push(() => vi.useRealTimers());
  const port = await open(1);
  const { executor } = new CommandRunner(new ManualLog());
  const dispatch = (client: Client): void => {
    executor.say('OK');
    client.quit();
  };
  const host: ClientHost = { executor, unfinished: new UnfinishedCommands(), dispatch, closed() {} };
  const socket = connectTo({ host: '127.0.0.1', port: port.port, allowHalfOpen: true });
  closers.push(() => socket.destroy());
  let received = '';
  socket.on('data', (bytes) => {
    received += String(bytes);
  });
  const ended = once(socket, 'end');
  socket.write('QUIT\r\n');
  const served = await new Promise<Socket>((resolve) => port.serve(resolve));
  const [finished, closed] = [once(served, 'finish'), once(served, 'close')];
  new Client(1, served, host, true);
  await Promise.all([ended, finished]);
  expect(received).toBe('+OK\r\n');
  vi.advanceTimersByTime(CLIENT_END_MS - 1);
  expect(served.destroyed).toBe(false);
  vi.advanceTimersByTime(1);
  await closed;
});

it('a port that is in use is an error that says what to do', async () => {
  const { port } = await open(1);
  const second = ClientPort.listen({ host: '127.0.0.1', port, maxClients: 1 });
  await expect(second).rejects.toMatchObject({
    code: 'ERR_RDMC_KV_LISTEN_FAILED',
    message: `cannot listen for clients at 127.0.0.1:${port}: another process uses the port (EADDRINUSE); end it, or choose another port`,
  });
});

it('an address that this host does not have is named', async () => {
  const there = ClientPort.listen({ host: '192.0.2.1', port: 0, maxClients: 1 });
  await expect(there).rejects.toMatchObject({
    code: 'ERR_RDMC_KV_LISTEN_FAILED',
    message: expect.stringContaining('192.0.2.1:0: this host does not have the address'),
  });
});
