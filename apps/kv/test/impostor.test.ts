/** A process that does not know the key, in the place of a member: needs the built dist. */
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { reserveLoopbackPorts } from '@rdmc/mesh/loopback';
import { freed, startImpostor, TRUSTING, temporaryDirectory } from '@rdmc/testing';
import { describe, expect, it } from 'vitest';

const command = fileURLToPath(new URL('../dist/main.js', import.meta.url));

describe('a member that shows a certificate in place of the key', () => {
  it.each(TRUSTING)('is not joined by a server, with %j', async (env) => {
    // The cipher suite of members: the impostor must fail for its certificate.
    const { port, heard } = await startImpostor({ ciphers: 'TLS_AES_128_GCM_SHA256' });
    const directory = temporaryDirectory('kv-impostor');
    const keyFile = join(directory, 'key');
    writeFileSync(keyFile, '0123456789abcdef'.repeat(2), { mode: 0o600 });
    const [own] = await freed(await reserveLoopbackPorts(1));
    const members = `127.0.0.1:${port},127.0.0.1:${own!.port}`;
    const args = ['--members', members, '--id', '1', '--port', '0', '--key-file', keyFile];
    const started = promisify(execFile)(process.execPath, [command, 'server', ...args], {
      cwd: directory,
      env: { ...process.env, ...env },
    });
    await expect(started).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^error ERR_RDMC_MESH_WRONG_KEY: .*it sent a certificate/m),
    });
    expect(Buffer.concat(heard)).toHaveLength(0);
  });
});
