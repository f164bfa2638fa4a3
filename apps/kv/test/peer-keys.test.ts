/** Who is a server to other servers: whoever proves the key, which without one is that of the user. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, chownSync, mkdirSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { connect as tlsConnect } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { encodeFrame } from '@rdmc/mesh';
import { startImpostor, TRUSTING, temporaryDirectory } from '@rdmc/testing';
import { afterEach, describe, expect, it } from 'vitest';
import { PEER_PURPOSE, PeerFrame, requestHeader, u32 } from '../src/cluster/peer-frames.js';
import { encodeCommand } from './support/encode.js';
import { PeerPair } from './support/peer-pair.js';

const KEY = 'a cluster key of some length';
const PACKAGE = fileURLToPath(new URL('..', import.meta.url));
/** 'nobody' on Debian; on other systems too it is not the user of this process. */
const OTHER_USER = 65_534;

const cleanUp: (() => void)[] = [];
afterEach(() => {
  for (const each of cleanUp.splice(0)) each();
});

async function pairOf(key?: string): Promise<PeerPair> {
  const pair = await PeerPair.start(key);
  cleanUp.push(() => pair.close());
  return pair;
}

/** How a server's dialling ends in a process of its own. */
async function dialInChild(port: number, key: string | undefined, env: NodeJS.ProcessEnv, uid?: number) {
  const options = JSON.stringify({ purpose: PEER_PURPOSE, ...(key !== undefined && { key }) });
  const script = `
    import { KeyedSockets } from '@rdmc/mesh';
    const dialled = new KeyedSockets(${options}).connect({ host: '127.0.0.1', port: ${port} }, { timeoutMs: 20_000 });
    const outcome = await dialled.then(() => 'accepted', ({ code, message }) => code + ' ' + message);
    process.stdout.write(outcome, () => process.exit());`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], {
    cwd: PACKAGE,
    env: { ...process.env, ...env },
    ...(uid !== undefined && { uid, gid: uid }),
  });
  return stdout;
}

describe('a server that shows a certificate in place of the key', () => {
  it.each(TRUSTING)('is not asked anything, with %j', async (env) => {
    const { port } = await startImpostor();
    expect(await dialInChild(port, KEY, env)).toMatch(/^ERR_RDMC_MESH_WRONG_KEY /);
  });
});

describe('the port for other servers', () => {
  const other = createHash('sha256').update('another key').digest();

  it.each([
    ['another key', { psk: other, identity: PEER_PURPOSE }],
    ['another identity', { psk: other, identity: 'another' }],
    ['TLS without a key', undefined],
  ])('refuses %s', async (_name, offer) => {
    const pair = await pairOf(KEY);
    const socket = tlsConnect({
      host: '127.0.0.1',
      port: pair.serving.port,
      ciphers: 'TLS_AES_128_GCM_SHA256',
      rejectUnauthorized: false,
      ...(offer && { pskCallback: () => offer }),
    });
    cleanUp.push(() => socket.destroy());
    const outcome = new Promise((resolve) => {
      for (const event of ['secureConnect', 'error', 'close']) socket.on(event, () => resolve(event));
    });
    expect(await outcome).not.toBe('secureConnect');
    expect(await pair.ask([['GET', 'k']])).toEqual(['$-1\r\n']);
  });

  it.each([undefined, KEY])(
    'runs no command of a caller without any key, key of the cluster: %s',
    async (key) => {
      const pair = await pairOf(key);
      const stranger = await pair.stranger({ insecure: true });
      stranger.read();
      const set = encodeCommand(['SET', 'k', 'theirs']);
      const requests = encodeFrame(PeerFrame.REQUESTS, u32(1), requestHeader(1, 2, set.length), set);
      stranger.socket.write(Buffer.concat([encodeFrame(PeerFrame.HELLO, u32(1)), requests]));
      await stranger.until(1);
      expect(stranger.replies).toBe(0);
      expect(await pair.ask([['GET', 'k']])).toEqual(['$-1\r\n']);
    },
  );

  it('takes servers beside 200 silent connections', async () => {
    const pair = await pairOf(KEY);
    const silent: Socket[] = [];
    for (let i = 0; i < 200; i += 1) {
      const socket = connect(pair.serving.port, '127.0.0.1').on('error', () => {});
      cleanUp.push(() => socket.destroy());
      await once(socket, 'connect');
      silent.push(socket);
    }
    const server = await pair.stranger({ key: KEY });
    cleanUp.push(() => server.socket.destroy());
    expect(silent).toHaveLength(200);
    expect(await pair.ask([['GET', 'k']])).toEqual(['$-1\r\n']);
  });

  it.skipIf(process.geteuid?.() !== 0)(
    'refuses another user, where there is no key (skipped unless root runs the tests)',
    async () => {
      const pair = await pairOf();
      const home = temporaryDirectory();
      chmodSync(home, 0o711);
      const theirs = join(home, 'theirs');
      mkdirSync(theirs, { mode: 0o700 });
      chownSync(theirs, OTHER_USER, OTHER_USER);
      const outcome = await dialInChild(
        pair.serving.port,
        undefined,
        { XDG_RUNTIME_DIR: theirs },
        OTHER_USER,
      );
      expect(outcome).toMatch(/^ERR_RDMC_MESH_WRONG_KEY /);
      expect(outcome).toContain('give both ends the same key');
    },
  );
});
