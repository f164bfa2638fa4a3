import { once } from 'node:events';
import type { Socket } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { ClientPort } from '../src/server/client-port.js';
import { RawClient } from './support/raw-client.js';

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

async function open(maxClients: number): Promise<ClientPort> {
  const port = await ClientPort.listen({ host: '127.0.0.1', port: 0, maxClients });
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
