/** Clients that have not given the password, browsers, and who may connect at all. */
import { afterEach, describe, expect, it } from 'vitest';
import { KvServer, Standalone } from '../src/index.js';
import { requireKeyForPassword } from '../src/node/protection.js';
import { encodeCommand } from './support/encode.js';
import { startManualServer } from './support/manual-server.js';
import { RawClient } from './support/raw-client.js';

/** For a test that hangs. */
const LIMIT_MS = 100_000;

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function standalone(options: Parameters<typeof Standalone.start>[0] = {}): Promise<number> {
  const server = await Standalone.start({ port: 0, ...options });
  closers.push(() => server.close());
  return server.port;
}

async function connect(port: number): Promise<RawClient> {
  const client = await RawClient.connect(port);
  closers.push(() => client.close());
  return client;
}

describe('before AUTH', () => {
  it.each([
    ['many arguments', encodeCommand(Array.from({ length: 11 }, () => 'x')), 'multibulk'],
    ['a long argument', encodeCommand(['ECHO', 'x'.repeat(20_000)]), 'bulk'],
  ])('a command with %s ends the connection', async (_, bytes, what) => {
    const client = await connect(await standalone({ password: 'secret' }));
    client.send(bytes.toString('latin1'));
    const refusal = `-ERR Protocol error: unauthenticated ${what} length\r\n`;
    expect(await client.until((text) => text.endsWith('\r\n'))).toBe(refusal);
    expect(await client.until(() => false)).toBe(refusal);
  });

  it('a client that does not read its replies is disconnected', async () => {
    const server = await Standalone.start({ port: 0, password: 'secret' });
    closers.push(() => server.close());
    const { socket } = await connect(server.port);
    socket.pause();
    await expect.poll(() => server.statistics().clients).toBe(1);
    // More replies than the system keeps of a connection.
    for (let sent = 0; sent < 200 && !socket.destroyed; sent += 1) socket.write('PING\r\n'.repeat(10_000));
    await expect.poll(() => server.statistics().clients, { timeout: LIMIT_MS }).toBe(0);
  });

  it('the password lifts the limits, and RESET sets them again', async () => {
    const client = await connect(await standalone({ password: 'secret' }));
    const long = 'x'.repeat(20_000);
    const commands = [['AUTH', 'secret'], ['SET', 'k', long], ['RESET'], ['SET', 'k', long]];
    client.send(Buffer.concat(commands.map(encodeCommand)).toString('latin1'));
    const replies = '+OK\r\n+OK\r\n+RESET\r\n-ERR Protocol error: unauthenticated bulk length\r\n';
    expect(await client.until((text) => text.split('\r\n').length > commands.length)).toBe(replies);
    expect(await client.until(() => false)).toBe(replies);
  });
});

describe('a browser', () => {
  it.each([
    ['a POST request', 'POST / HTTP/1.1\r\nHost: localhost\r\n\r\nSET k forged\r\n'],
    ['a header', 'GET / HTTP/1.1\r\nhost: localhost\r\n\r\nSET k forged\r\n'],
  ])('that sends %s is disconnected before its body is run', async (_, bytes) => {
    const told: string[] = [];
    const manual = await startManualServer({ onHttp: (address) => told.push(address) });
    closers.push(() => manual.server.close());
    const client = await connect(manual.server.port);
    client.send(bytes);
    await Promise.race([client.until(() => false), manual.log.made(1)]);
    expect(manual.log.appends).toEqual([]);
    expect(client.received).toBe('');
    expect(told).toEqual([expect.stringMatching(/^127\.0\.0\.1:\d+$/)]);
    expect(manual.store.keyspace.size).toBe(0);
    const other = await connect(manual.server.port);
    expect(await other.command('EXISTS', 'k')).toBe(':0\r\n');
  });
});

describe('protected mode', () => {
  const refused = {
    code: 'ERR_RDMC_KV_UNPROTECTED',
    message: expect.stringContaining('--no-protected-mode'),
  };
  it.each(['0.0.0.0', '::', '192.0.2.1', ''])('refuses host %j without a password', async (host) => {
    await expect(Standalone.start({ port: 0, host })).rejects.toMatchObject(refused);
    const members = [0, 1].map((id) => ({ id, host: '127.0.0.1', port: 1 + id }));
    const server = KvServer.start({
      id: 1,
      members,
      host,
      port: 0,
      directory: '/nowhere',
      key: 'k'.repeat(32),
    });
    await expect(server).rejects.toMatchObject(refused);
  });

  it.each([
    ['0.0.0.0', true],
    ['127.0.0.1', true],
    ['0.0.0.0', false],
  ])('refuses an empty password: host %j, protected mode %s', async (host, protectedMode) => {
    const empty = {
      code: 'ERR_RDMC_KV_UNPROTECTED',
      message: expect.stringContaining('RDMC_KV_PASSWORD'),
    };
    const access = { port: 0, host, password: '', protectedMode };
    const alone = Standalone.start(access);
    alone.then(
      (server) => closers.push(() => server.close()),
      () => {},
    );
    await expect(alone).rejects.toMatchObject(empty);
    const members = [0, 1].map((id) => ({ id, host: '127.0.0.1', port: 1 + id }));
    const server = KvServer.start({
      ...access,
      id: 1,
      members,
      directory: '/nowhere',
      key: 'k'.repeat(32),
    });
    await expect(server).rejects.toMatchObject(empty);
  });

  it('takes it with a password, or when told so', async () => {
    for (const how of [{ password: 'secret' }, { protectedMode: false }]) {
      const client = await connect(await standalone({ host: '0.0.0.0', ...how }));
      client.send('HELLO\r\n');
      expect(await client.until((text) => text.includes('\r\n'))).toMatch(/^(-NOAUTH|\*14)/);
    }
  });
});

it.each([
  ['secret', undefined, false],
  ['secret', 'k'.repeat(32), true],
  [undefined, undefined, true],
])('password %j with key %j: allowed: %s', (password, key, allowed) => {
  const require = expect(() => requireKeyForPassword(password, key));
  if (allowed) require.not.toThrow();
  else require.toThrow(expect.objectContaining({ code: 'ERR_RDMC_KV_UNPROTECTED' }));
});

it('a password needs a cluster key: without one, the port for servers would be a way past it', async () => {
  const members = [0, 1].map((id) => ({ id, host: '127.0.0.1', port: 1 + id }));
  const started = KvServer.start({ id: 1, members, port: 0, directory: '/nowhere', password: 'secret' });
  await expect(started).rejects.toMatchObject({
    code: 'ERR_RDMC_KV_UNPROTECTED',
    message: expect.stringContaining('--key-file'),
  });
});
