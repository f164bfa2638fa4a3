import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, mkdirSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { temporaryDirectory } from '@rdmc/testing';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { MeshLogger } from '../src/index.js';
import { KeyedSockets } from '../src/sockets.js';
import { form, KEY, place, rejection, thrown, until } from './helpers.js';

const JOIN = fileURLToPath(new URL('fixtures/join.mjs', import.meta.url));
/** 'nobody' on Debian; on other systems too it is not the user of this process. */
const OTHER_USER = 65_534;

let runtime: string;
beforeEach(() => {
  runtime = temporaryDirectory('rdmc-mesh');
  vi.stubEnv('XDG_RUNTIME_DIR', runtime);
});
afterEach(() => {
  vi.unstubAllEnvs();
});

describe('without a key, on loopback', () => {
  it("members use the user's: TLS, and secrets that other members of that user derive as well", async () => {
    const { meshes, cores } = await form(3);
    const protocols = cores.flatMap((core) => [...core.links.values()].map((link) => link.protocol));
    expect(protocols).toEqual(Array(6).fill('TLSv1.3'));
    const [secret, ...others] = meshes.map((mesh) => mesh.secret('x'));
    expect(secret).toHaveLength(32);
    expect(others).toEqual([secret, secret]);
  });

  it('nothing is made up where the key of the user cannot be used', async () => {
    mkdirSync(join(runtime, 'rdmc'), { mode: 0o755 });
    chmodSync(join(runtime, 'rdmc'), 0o755);
    const where = await place(1);
    const error = await rejection(where.join(0).mesh);
    expect(error).toMatchObject({ code: 'ERR_RDMC_MESH_USER_KEY', cause: { code: 'ERR_RDMC_USER_KEY' } });
    expect(error.message).toContain(join(runtime, 'rdmc'));
    expect(error.message).toContain('openssl rand -hex 32');
    expect(thrown(() => new KeyedSockets({ purpose: 'test' })).code).toBe('ERR_RDMC_MESH_USER_KEY');
    // Whoever gives one does not need it.
    expect(new KeyedSockets({ purpose: 'test', key: KEY }).keyed).toBe(true);
    expect(new KeyedSockets({ purpose: 'test', insecure: true }).keyed).toBe(false);
  });

  it('an end that started before the key vanished refuses later ones, and the error says why', async () => {
    const older = new KeyedSockets({ purpose: 'test' });
    rmSync(join(runtime, 'rdmc', 'user-key'));
    const younger = new KeyedSockets({ purpose: 'test' });
    const server = createServer((raw) => void older.accept(raw).catch(() => raw.destroy()));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    const error = await rejection(
      younger.connect({ host: '127.0.0.1', port: (server.address() as AddressInfo).port }),
    );
    expect(error.code).toBe('ERR_RDMC_MESH_WRONG_KEY');
    expect(error.message).toContain('the system may have removed that key since one of them started');
  });

  it('`insecure` and `key` contradict each other, and beyond loopback `insecure` is not enough', async () => {
    const where = await place(1);
    const both = await rejection(where.join(0, { key: KEY, insecure: true }).mesh);
    expect(both.code).toBe('ERR_RDMC_MESH_INVALID_OPTION');
    const beyond = await rejection(where.join(0, { insecure: true, listenHost: '0.0.0.0' }).mesh);
    expect(beyond.code).toBe('ERR_RDMC_MESH_KEY_REQUIRED');
    const both2 = thrown(() => new KeyedSockets({ purpose: 'test', key: KEY, insecure: true }));
    expect(both2.code).toBe('ERR_RDMC_MESH_INVALID_OPTION');
  });

  it.skipIf(process.geteuid?.() !== 0)(
    'a member of another user is refused, and told what to do (skipped unless root runs the tests)',
    async () => {
      const dropped: string[] = [];
      const logger: MeshLogger = { warn: (_details, text) => dropped.push(text) };
      const where = await place(2);
      const core = where.join(0, { logger }).core;
      where.reserved[1]!.server.close();
      const theirs = join(runtime, 'theirs');
      mkdirSync(theirs, { mode: 0o700 });
      chownSync(theirs, OTHER_USER, OTHER_USER);
      chmodSync(runtime, 0o711);
      const options = JSON.stringify({ id: 1, members: where.members, timeoutMs: 60_000 });
      const { stdout } = await promisify(execFile)(process.execPath, [JOIN, options], {
        uid: OTHER_USER,
        gid: OTHER_USER,
        cwd: '/',
        env: { ...process.env, XDG_RUNTIME_DIR: theirs },
      });
      const { code, message } = JSON.parse(stdout);
      expect(code).toBe('ERR_RDMC_MESH_WRONG_KEY');
      expect(message).toContain(`the key of user ${OTHER_USER} in ${theirs}/rdmc, as no key was given`);
      expect(message).toContain('give both ends the same key');
      await until(() => dropped.length === 1);
      expect(dropped[0]).toContain(`the key of user 0 in ${runtime}/rdmc, as no key was given`);
      expect(core.links.size).toBe(0);
    },
  );
});
