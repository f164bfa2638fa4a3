/** Clients with TLS. */
import { readFileSync } from 'node:fs';
import { connect as connectPlain } from 'node:net';
import { fileURLToPath } from 'node:url';
import { impostorPem, until } from '@rdmc/testing';
import { createClient } from 'redis';
import { afterEach, describe, expect, it } from 'vitest';
import { clientTls, clusterTls, serverTls, serverTlsArguments } from '../src/cli/tls-options.js';
import { Connection } from '../src/client/connection.js';
import { Standalone, type StandaloneOptions } from '../src/index.js';

const file = fileURLToPath(new URL('support/loopback.pem', import.meta.url));
const pem = readFileSync(file);
const tls = { cert: pem, key: pem };
/** Each attempt to connect is a handshake of TLS. */
const LOOK_EVERY_MS = 20;

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function standalone(options: StandaloneOptions = {}): Promise<Standalone> {
  const server = await Standalone.start({ port: 0, tls, ...options });
  closers.push(() => server.close());
  return server;
}

async function open(port: number, ca = pem): Promise<Connection> {
  const connection = await Connection.open('127.0.0.1', port, { ca });
  closers.push(() => connection.close());
  return connection;
}

it('a client has the replies of a connection without TLS, large ones too', async () => {
  const { port } = await standalone();
  const client = await open(port);
  const value = 'v'.repeat(900_000);
  expect(await client.command('SET', 'k', value)).toBe('OK');
  const sent = Array.from({ length: 20 }, () => client.command('GET', 'k'));
  for (const reply of await Promise.all(sent)) expect(reply === value).toBe(true);
  expect(await client.command('CLIENT', 'INFO')).toMatch(/^id=1 addr=127\.0\.0\.1:\d+ /);
});

it('the client of redis', async () => {
  const { port } = await standalone();
  const socket = { tls: true, ca: pem, host: '127.0.0.1', port } as const;
  const client = await createClient({ socket, RESP: 3 }).connect();
  await client.hSet('h', { f: '1', g: '2' });
  expect(await client.hGetAll('h')).toEqual({ f: '1', g: '2' });
  expect(await client.multi().hIncrBy('h', 'f', 5).hGet('h', 'g').exec()).toEqual([6, '2']);
  await client.close();
});

it('a password is asked for as without TLS, and a host beyond loopback needs one', async () => {
  const { port } = await standalone({ password: 'secret' });
  const client = await open(port);
  await expect(client.command('GET', 'k')).rejects.toThrow('NOAUTH');
  expect(await client.command('AUTH', 'secret')).toBe('OK');
  expect(await client.command('GET', 'k')).toBe(null);
  await expect(standalone({ host: '0.0.0.0' })).rejects.toMatchObject({ code: 'ERR_RDMC_KV_UNPROTECTED' });
});

it('a client without TLS gets no reply, and one that does not know the authority does not connect', async () => {
  const server = await standalone({ maxClients: 1 });
  const plain = connectPlain({ host: '127.0.0.1', port: server.port });
  let received = '';
  plain.on('data', (chunk: Buffer) => {
    received += chunk.toString('latin1');
  });
  plain.on('error', () => {});
  plain.write('SET key value\r\nPING\r\n');
  await new Promise((resolve) => plain.once('close', resolve));
  expect(received).not.toContain('PONG');
  await expect(open(server.port, impostorPem)).rejects.toMatchObject({ code: 'DEPTH_ZERO_SELF_SIGNED_CERT' });
  // Both have left the only place.
  await until(() => server.statistics().connections >= 2, LOOK_EVERY_MS);
  let client: Connection | undefined;
  await until(async () => {
    client = await open(server.port).catch(() => undefined);
    return client !== undefined;
  }, LOOK_EVERY_MS);
  expect(await client!.command('PING')).toBe('PONG');
  await expect(open(server.port)).rejects.toThrow();
  expect(server.statistics().refusedConnections).toBeGreaterThan(0);
});

it('a certificate whose key is another one is refused', async () => {
  await expect(standalone({ tls: { cert: pem, key: impostorPem } })).rejects.toMatchObject({
    code: 'ERR_RDMC_KV_INVALID_TLS',
  });
});

describe('the options', () => {
  const invalid = (text: string) =>
    expect.objectContaining({ code: 'ERR_RDMC_KV_INVALID_TLS', message: expect.stringContaining(text) });

  it('of a server come in pairs, and name files', () => {
    expect(serverTls({})).toBeUndefined();
    expect(serverTls({ tlsCert: file, tlsKey: file })).toEqual({ cert: pem, key: pem });
    expect(() => serverTls({ tlsCert: file })).toThrow(invalid('--tls-key'));
    expect(() => serverTls({ tlsCert: '/nowhere', tlsKey: file })).toThrow(
      invalid('--tls-cert: cannot read'),
    );
    expect(serverTlsArguments({ tlsCert: 'c', tlsKey: 'k' })).toEqual(['--tls-cert', 'c', '--tls-key', 'k']);
  });

  it('of a client have an authority only with --tls', () => {
    expect(clientTls({ tls: false })).toBeUndefined();
    expect(clientTls({ tls: true })).toEqual({});
    expect(clientTls({ tls: true, cacert: file })).toEqual({ ca: pem });
    expect(() => clientTls({ tls: false, cacert: file })).toThrow(invalid('--tls'));
  });

  it('of a command that starts servers give both ends TLS', () => {
    expect(clusterTls({ tls: false })).toBeUndefined();
    const both = { tls: false, tlsCert: file, tlsKey: file, cacert: file };
    expect(clusterTls(both)).toEqual({ ca: pem });
    expect(() => clusterTls({ tls: true, cacert: file })).toThrow(invalid('--tls-cert and --tls-key'));
  });
});
