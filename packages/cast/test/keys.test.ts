import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, chownSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { connect as tlsConnect } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { castFile } from '@rdmc/cast';
import { KeyedSockets } from '@rdmc/mesh/sockets';
import { startImpostor, TRUSTING, temporaryDirectory } from '@rdmc/testing';
import { afterEach, describe, expect, it } from 'vitest';
import { ControlChannel } from '../src/control/control-channel.js';
import { type ReceiverFrame, type SenderFrame, shapes } from '../src/control/frames.js';
import { CONTROL_PURPOSE } from '../src/identity.js';
import { startReceivers } from './support/receivers.js';
import { expectSameTree, seededBytes, write } from './support/tree.js';

const KEY = 'a key of more than sixteen bytes';
// Built code: a child process cannot load TypeScript. `npm run build -w @rdmc/cast` comes first.
const DIAL = fileURLToPath(new URL('fixtures/dial.mjs', import.meta.url));
/** 'nobody' on Debian; on other systems too it is not the user of this process. */
const OTHER_USER = 65_534;

const cleanUp: (() => void)[] = [];
afterEach(() => {
  for (const each of cleanUp.splice(0)) each();
});

type Outcome = { readonly code: string; readonly message?: string };

async function sendInChild(
  path: string,
  options: object,
  env: NodeJS.ProcessEnv,
  uid?: number,
): Promise<Outcome> {
  const args = [DIAL, JSON.stringify({ path, options })];
  const { stdout } = await promisify(execFile)(process.execPath, args, {
    cwd: '/',
    env: { ...process.env, ...env },
    ...(uid !== undefined && { uid, gid: uid }),
  });
  return JSON.parse(stdout);
}

describe('a receiver that shows a certificate in place of the key', () => {
  it.each(TRUSTING)('receives nothing, with %j', async (env) => {
    const { port, heard } = await startImpostor();
    const to = [{ host: '127.0.0.1', port }];
    const path = write(temporaryDirectory(), 'file');
    const options = { to, key: KEY, connectTimeoutMs: 20_000 };
    expect(await sendInChild(path, options, env)).toMatchObject({ code: 'ERR_RDMC_KEY_MISMATCH' });
    expect(Buffer.concat(heard)).toHaveLength(0);
  });
});

describe('a receiver with a key', () => {
  const other = createHash('sha256').update('another key').digest();

  it.each([
    ['another key', { psk: other, identity: CONTROL_PURPOSE }],
    ['another key under another identity', { psk: other, identity: 'another' }],
    ['TLS without a key', undefined],
  ])('refuses %s, and still listens', async (_name, offer) => {
    const [receiver] = await startReceivers(1, { key: KEY, host: '127.0.0.1' });
    const socket = tlsConnect({
      ...receiver!.to,
      ciphers: 'TLS_AES_128_GCM_SHA256',
      rejectUnauthorized: false,
      ...(offer && { pskCallback: () => offer }),
    });
    cleanUp.push(() => socket.destroy());
    const outcome = new Promise((resolve) => {
      for (const event of ['secureConnect', 'error', 'close']) socket.on(event, () => resolve(event));
    });
    expect(await outcome).not.toBe('secureConnect');
    await castFile(write(temporaryDirectory(), 'file'), { to: [receiver!.to], key: KEY, dryRun: true })
      .finished;
  });
});

describe('without a key', () => {
  it('a receiver refuses a caller that does not use a key', async () => {
    const [receiver] = await startReceivers(1);
    const socket = await new KeyedSockets({ purpose: CONTROL_PURPOSE, insecure: true }).connect(receiver!.to);
    cleanUp.push(() => socket.destroy());
    const channel = new ControlChannel<SenderFrame, ReceiverFrame>(socket, shapes.receiver, 'the receiver');
    channel.send({ type: 'call', version: 1, software: 'test' });
    const { value } = await channel[Symbol.asyncIterator]().next();
    expect(value).toMatchObject({ type: 'refused', code: 'ERR_RDMC_KEY_MISMATCH' });
    await castFile(write(temporaryDirectory(), 'file'), { to: [receiver!.to], dryRun: true }).finished;
  });

  it.skipIf(process.geteuid?.() !== 0)(
    'a receiver of root takes nothing from another user (skipped unless root runs the tests)',
    async () => {
      const [receiver] = await startReceivers(1);
      const home = temporaryDirectory();
      chmodSync(home, 0o711);
      const theirs = join(home, 'theirs');
      mkdirSync(theirs, { mode: 0o700 });
      const path = write(theirs, 'file');
      for (const each of [theirs, path]) chownSync(each, OTHER_USER, OTHER_USER);
      const options = { to: [receiver!.to] };
      const { code, message } = await sendInChild(path, options, { XDG_RUNTIME_DIR: theirs }, OTHER_USER);
      expect(code).toBe('ERR_RDMC_KEY_MISMATCH');
      expect(message).toContain('give sender and receivers the same key');
      expect(message).toContain(`the key of user ${OTHER_USER} in ${theirs}/rdmc, as no key was given`);
      expect(readdirSync(receiver!.directory)).toEqual([]);
    },
  );
});

describe('a key that is rotated in the middle', () => {
  const OLD = 'the key until today, 16 bytes';
  const NEW = 'the key from today on, 16 bytes';

  it('a cast in progress goes on with its key; the next one reaches those that have the new one, and names the others', async () => {
    const from = temporaryDirectory();
    const path = write(from, 'file', seededBytes(4_000_000, 1));
    const [one] = await startReceivers(1, { key: OLD });
    const options = { to: [one!.to], key: OLD, messageBytes: 1 << 16, bandwidthLimit: 2_000_000 };
    const running = castFile(path, options);
    for await (const { receivers } of running) if (receivers[0]!.receivedBytes > 0) break;
    // The other hosts have the new key by now.
    const [two] = await startReceivers(1, { key: NEW });
    const next = castFile(path, { to: [one!.to, two!.to], key: NEW, retries: 1 });
    expect((await next.finished).receivers).toMatchObject([
      { state: 'failed', code: 'ERR_RDMC_KEY_MISMATCH', attempts: 2, files: 0 },
      { state: 'complete', files: 1 },
    ]);
    expect((await running.finished).receivers).toMatchObject([{ state: 'complete', files: 1 }]);
    for (const { directory } of [one!, two!]) expectSameTree(directory, from);
    // The receiver with the old key is as it was for the old key, and starts with the new one.
    await one!.receiver.close();
    const [later] = await startReceivers(1, { key: NEW, directory: one!.directory });
    expect(await castFile(path, { to: [later!.to], key: NEW }).finished).toMatchObject({ sentFiles: 0 });
  });
});
