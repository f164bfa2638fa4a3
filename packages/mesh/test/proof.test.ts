import { execFile } from 'node:child_process';
import { constants, createHash } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket, connect as tcpConnect } from 'node:net';
import { type TLSSocket, connect as tlsConnect } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { impostorPem, startImpostor, TRUSTING } from '@rdmc/testing';
import { afterEach, describe, expect, it } from 'vitest';
import { ClusterKey } from '../src/key.js';
import { requireKeyProof, Security } from '../src/security.js';
import { KeyedSockets } from '../src/sockets.js';
import { socketEvent } from '../src/transport.js';
import { assertWhole, form, KEY, place, until } from './helpers.js';

const DIAL = fileURLToPath(new URL('fixtures/dial.mjs', import.meta.url));
const TLS = {
  minVersion: 'TLSv1.3',
  maxVersion: 'TLSv1.3',
  ciphers: 'TLS_AES_128_GCM_SHA256',
  secureOptions: constants.SSL_OP_NO_TICKET,
} as const;

const open: { destroy(): void }[] = [];
afterEach(() => {
  for (const each of open.splice(0)) each.destroy();
});

// Built code, in a process with that environment. `npm run build -w @rdmc/mesh` comes first.
describe('a server that shows a certificate in place of the key', () => {
  it.each(TRUSTING)('is neither member nor peer, with %j', async (env) => {
    const { port, heard } = await startImpostor(TLS);
    const own = await place(1);
    own.reserved[0]!.server.close();
    const args = [DIAL, String(port), String(own.members[0]!.port)];
    const { stdout } = await promisify(execFile)(process.execPath, args, { env: { ...process.env, ...env } });
    expect(JSON.parse(stdout)).toEqual(['ERR_RDMC_MESH_WRONG_KEY', 'ERR_RDMC_MESH_WRONG_KEY']);
    expect(Buffer.concat(heard)).toHaveLength(0);
  });

  it('is refused by TLS itself, before the proof is asked for', async () => {
    const { port } = await startImpostor(TLS);
    const raw = tcpConnect({ port, host: '127.0.0.1' });
    const socket = Security.ofMesh(new ClusterKey(KEY)).client(raw);
    open.push(socket);
    await expect(socketEvent(socket, 'secureConnect')).rejects.toThrow();
    expect(socket.authorizationError).toBeDefined();
  });

  it('fails the proof also where TLS trusts it', async () => {
    const { port } = await startImpostor(TLS);
    const socket = tlsConnect({
      ...TLS,
      port,
      host: '127.0.0.1',
      ca: impostorPem,
      checkServerIdentity: () => undefined,
    });
    open.push(socket);
    await once(socket, 'secureConnect');
    expect(socket.authorized).toBe(true);
    expect(requireKeyProof(socket)).toBe(false);
    expect(socket.destroyed).toBe(true);
  });
});

const PURPOSE = 'test';
const right = new ClusterKey(KEY).secret(PURPOSE);
const other = createHash('sha256').update('another key').digest();

/** A caller that offers this, or no key at all; resolves with what ends its attempt. */
async function call(port: number, offer?: { psk: Buffer; identity: string }): Promise<string> {
  const raw = tcpConnect({ port, host: '127.0.0.1' });
  const socket: TLSSocket = tlsConnect({
    ...TLS,
    socket: raw,
    rejectUnauthorized: false,
    ...(offer && { pskCallback: () => offer }),
  });
  open.push(raw, socket);
  return new Promise((resolve) => {
    socket.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    socket.on('close', () => resolve('closed'));
    socket.on('secureConnect', () => resolve('accepted'));
  });
}

describe('a listener', () => {
  async function listening() {
    const sockets = new KeyedSockets({ key: KEY, purpose: PURPOSE });
    const outcomes: Promise<Socket>[] = [];
    const server = createServer((raw) => {
      const accepted = sockets.accept(raw);
      accepted.catch(() => raw.destroy());
      outcomes.push(accepted);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    open.push({ destroy: () => server.close() });
    return { port: (server.address() as AddressInfo).port, outcomes };
  }

  it('takes the right key, so that what follows tests the proof and not something else', async () => {
    const { port, outcomes } = await listening();
    expect(await call(port, { psk: right, identity: PURPOSE })).toBe('accepted');
    expect(await outcomes[0]).toBeDefined();
  });

  it.each([
    ['another key', { psk: other, identity: PURPOSE }],
    ['the right key under another identity', { psk: right, identity: 'another' }],
    ['TLS without a key', undefined],
  ])('refuses %s', async (_name, offer) => {
    const { port, outcomes } = await listening();
    expect(await call(port, offer)).toMatch(/^(ERR_SSL_|closed|ECONNRESET)/);
    await expect(outcomes[0]).rejects.toMatchObject({ code: expect.stringMatching(/WRONG_KEY|PROTOCOL/) });
  });

  it('refuses what is not TLS', async () => {
    const { port, outcomes } = await listening();
    const raw = tcpConnect({ port, host: '127.0.0.1' }).on('error', () => {});
    open.push(raw);
    raw.write(Buffer.alloc(64));
    await once(raw, 'close');
    await expect(outcomes[0]).rejects.toMatchObject({ code: 'ERR_RDMC_MESH_WRONG_KEY' });
  });

  it.each([
    ['another key', { psk: other, identity: 'rdmc-mesh' }],
    ['the right key under another identity', { psk: new ClusterKey(KEY).psk, identity: 'another' }],
    ['TLS without a key', undefined],
  ])('of a mesh refuses %s', async (_name, offer) => {
    const dropped: string[] = [];
    const logger = { warn: (_details: object, text: string) => dropped.push(text) };
    const { meshes, members } = await form(2, { key: KEY, logger });
    expect(await call(members[0]!.port, offer)).toMatch(/^(ERR_SSL_|closed|ECONNRESET)/);
    await until(() => dropped.length === 1);
    await assertWhole(meshes);
  });
});
