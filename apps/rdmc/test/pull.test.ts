import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fetchKey } from '@rdmc/cast';
import { until } from '@rdmc/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import { type FetchEvent, fetchEvent } from '../src/fetch/events.js';
import { parseSource } from '../src/fetch/source.js';
import { FETCH_KEY_PREFIX, newKey, parseKey } from '../src/keys/key.js';
import { createKeyFile, readKeyFile } from '../src/keys/key-file.js';
import { type ServeLine, serveEvent } from '../src/serve/events.js';
import { sampleFile } from './support/casting.js';
import { answer, Cli, Scratch } from './support/cli.js';

const MIB = 1024 * 1024;
const BYTES = 24 * MIB;

let scratch: Scratch;
beforeEach(() => {
  scratch = new Scratch();
});

/** `rdmc serve DIR --json` on loopback. */
async function serve(directory: string, args: readonly string[] = []) {
  const own = ['serve', directory, '--listen', '127.0.0.1:0', '--device', 'soft', '--json'];
  const cli = new Cli<ServeLine>([...own, ...args], {}, { schema: serveEvent });
  const { port, metrics } = await cli.event('listening');
  return { cli, from: `127.0.0.1:${port}`, metrics };
}

/** `rdmc fetch … --json`, into a directory of its own. */
function fetch(source: string, name: string, args: readonly string[] = []) {
  const directory = join(scratch.path, name);
  const own = ['fetch', source, '--dir', directory, '--mkdir', '--device', 'soft', '--json'];
  const cli = new Cli<FetchEvent>([...own, ...args], {}, { schema: fetchEvent });
  return { cli, directory };
}

describe('rdmc serve and rdmc fetch', () => {
  it('three fetchers, one late and one killed: files are equal, and nobody gets a piece twice', async () => {
    const served = join(scratch.path, 'served');
    mkdirSync(join(served, 'model'), { recursive: true });
    const file = sampleFile(join(served, 'model/weights'), BYTES);
    writeFileSync(join(served, 'model/config'), 'small');
    const keyFile = join(scratch.path, 'cast.key');
    await createKeyFile(keyFile);
    const role = join(scratch.path, 'fetch.key');
    const made = await answer('key', '--role', 'fetch', '--key-file', keyFile, role);
    expect(made).toMatchObject({ code: 0 });
    // Eight seconds, in which one is killed and another one joins.
    const limit = ['--bandwidth-limit', '3MiB/s', '--metrics', '0'];
    const { cli: server, from, metrics } = await serve(served, ['--key-file', keyFile, ...limit]);

    const key = ['--key-file', role];
    const early = fetch(`${from}/model`, 'early', key);
    const killed = fetch(`${from}/model`, 'killed', key);
    // The killed one has its directory, and something has been stored.
    await Promise.all([server.several('began', 2), server.event('progress')]);
    killed.cli.child.kill('SIGKILL');
    const late = fetch(`${from}/model`, 'late', key);
    for (const { cli, directory } of [early, late]) {
      const ended = await cli.ended;
      expect(ended.code, ended.stderr).toBe(0);
      expect(readFileSync(join(directory, 'model/weights')).equals(readFileSync(file))).toBe(true);
      expect(readFileSync(join(directory, 'model/config'), 'utf8')).toBe('small');
      expect(readdirSync(directory)).toEqual(['model']);
      const finished = cli.named('finished')[0]!;
      // What a run that failed had brought is counted once.
      expect(finished).toMatchObject({ exitCode: 0, files: 2, receivedBytes: BYTES + 5, encrypted: true });
    }
    await server.several('complete', 2);
    expect(await server.event('failed')).toMatchObject({ code: 'ERR_RDMC_RECEIVER_LOST', name: 'model' });
    // The killed one has the small file, which may have been complete, and nothing of the large one under its name.
    expect(existsSync(join(killed.directory, 'model/weights'))).toBe(false);
    // What it left is used by the next fetch there, and removed.
    expect(readdirSync(killed.directory).some((name) => name.startsWith('.rdmc-cast-'))).toBe(true);
    const bytes = server.named('sent').reduce((sum, run) => sum + run.bytes, 0);
    const text = async (): Promise<string> => (await globalThis.fetch(metrics!)).text();
    await until(async () => (await text()).includes('rdmc_serve_fetches_total{outcome="complete"} 2\n'));
    expect(await text()).toContain('rdmc_serve_fetches_total{outcome="failed"} 1\n');
    expect(await text()).toContain(`rdmc_serve_sent_bytes_total ${bytes}\n`);

    const again = fetch(`${from}/model`, 'killed', [...key, '--serve-on', '200ms']);
    expect(await again.cli.ended).toMatchObject({ code: 0 });
    expect(readdirSync(again.directory)).toEqual(['model']);
    server.child.kill('SIGTERM');
    expect(await server.ended).toMatchObject({ code: 0, signal: null });
  });

  it('a name that does not exist, a key of the wrong role and an unreachable server have codes and advice', async () => {
    const served = join(scratch.path, 'served');
    mkdirSync(served);
    const { cli: server, from } = await serve(served);
    const none = await fetch(`${from}/none`, 'a').cli.ended;
    expect(none).toMatchObject({ code: 1 });
    expect(none.stderr).toContain('ERR_RDMC_NOT_FOUND');
    expect(none.stderr).toContain('check the name');
    const missing = await answer('fetch', from, '--dir', join(scratch.path, 'missing'));
    expect(missing).toMatchObject({ code: 1 });
    expect(missing.stderr).toContain('--mkdir');
    const outside = await fetch(`${from}/../x`, 'a').cli.ended;
    expect(outside.stderr).toContain('ERR_RDMC_UNSAFE_PATH');
    server.child.kill('SIGTERM');
    await server.ended;
    const gone = await answer('fetch', from, '--dir', scratch.path);
    expect(gone).toMatchObject({ code: 4 });
    expect(gone.stderr).toContain('ERR_RDMC_CAST_UNREACHABLE');
    expect(gone.stderr).toContain('--wait');

    const role = join(scratch.path, 'fetch.key');
    await createKeyFile(role, fetchKey(parseKey(newKey(), 'here')));
    for (const command of [
      ['serve', served],
      ['receive', '--dir', served],
      ['cast', served, '--to', '127.0.0.1'],
    ]) {
      const refused = await answer(...command, '--key-file', role);
      expect(refused).toMatchObject({ code: 2 });
      expect(refused.stderr).toContain('ERR_RDMC_WRONG_ROLE');
    }
    const twice = await answer('key', '--role', 'fetch', '--key-file', role);
    expect(twice.stderr).toContain('ERR_RDMC_WRONG_ROLE');
  });
});

describe('the parts of the command', () => {
  it('reads a source: host, port and name', () => {
    expect(parseSource('node0')).toEqual({ host: 'node0', port: undefined, name: undefined });
    expect(parseSource('node0:7500/a/b/')).toEqual({ host: 'node0', port: 7500, name: 'a/b' });
    expect(parseSource('[fd00::5]:1/x')).toEqual({ host: 'fd00::5', port: 1, name: 'x' });
    expect(() => parseSource('user@node0/x')).toThrow('a user name has no meaning here');
    expect(() => parseSource('fd00::5/x')).toThrow('ambiguous');
  });

  it('takes a key for fetching only where fetching is wanted', async () => {
    const text = fetchKey(parseKey(newKey(), 'here'));
    expect(text.startsWith(FETCH_KEY_PREFIX)).toBe(true);
    expect(Buffer.from(parseKey(`${text}\n`, 'here', 'fetch')).toString()).toBe(text);
    expect(() => parseKey(text, 'here')).toThrow(expect.objectContaining({ code: 'ERR_RDMC_WRONG_ROLE' }));
    const path = join(scratch.path, 'key');
    await createKeyFile(path, text);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(Buffer.from(await readKeyFile(path, 'fetch')).toString()).toBe(text);
    expect(await answer('key', '--key-file', path)).toMatchObject({ code: 2 });
    expect(await answer('key', '--role', 'fetch')).toMatchObject({ code: 2 });
  });
});
