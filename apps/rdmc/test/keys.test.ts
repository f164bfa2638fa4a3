import { randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { findKey } from '../src/keys/find-key.js';
import { newKey, parseKey } from '../src/keys/key.js';
import { createKeyFile, readKeyFile } from '../src/keys/key-file.js';
import { firstLine, onEnd } from '../src/keys/standard-input.js';
import { answer, Scratch } from './support/cli.js';

let scratch: Scratch;
beforeEach(() => {
  scratch = new Scratch();
});

const bytes = fc.uint8Array({ minLength: 16, maxLength: 64 });

describe('a key', () => {
  it('may be hexadecimal, base64 or base64url', () => {
    fc.assert(
      fc.property(bytes, fc.constantFrom('hex', 'base64', 'base64url'), (key, encoding) => {
        const text = Buffer.from(key).toString(encoding as BufferEncoding);
        // Base64 that is also hexadecimal is ambiguous, and is read as hexadecimal.
        fc.pre(encoding === 'hex' || !/^[0-9a-f]+$/i.test(text));
        expect(Buffer.from(parseKey(` ${text}\n`, 'here'))).toEqual(Buffer.from(key));
      }),
    );
    expect(parseKey('AB'.repeat(16), 'here')).toEqual(new Uint8Array(16).fill(0xab));
  });

  it.each([
    ['', 'is empty'],
    ['  \n', 'is empty'],
    ['00'.repeat(15), 'has 15 bytes; it must have 16 to 1024'],
    [Buffer.alloc(15, 'é').toString('base64'), 'has 15 bytes'],
    ['00'.repeat(1025), 'has 1025 bytes'],
    ['correct horse battery staple', 'neither hexadecimal nor base64'],
    ['=====', 'neither hexadecimal nor base64'],
  ])('%j is refused', (text, message) => {
    expect(() => parseKey(text, 'in a test')).toThrow(
      expect.objectContaining({
        code: 'ERR_RDMC_INVALID_KEY',
        exitCode: 2,
        message: expect.stringContaining(message),
      }),
    );
  });

  it('is never part of an error', () => {
    const secret = 'my secret passphrase';
    expect(() => parseKey(secret, 'in RDMC_KEY')).toThrow(
      expect.objectContaining({ message: expect.not.stringContaining(secret) }),
    );
  });

  it('that is new has 32 bytes, and differs from the previous one', () => {
    expect(parseKey(newKey(), 'here')).toHaveLength(32);
    expect(newKey()).not.toBe(newKey());
  });
});

describe('a key file', () => {
  it('is made for its owner alone, with any umask, and is never overwritten', async () => {
    const path = join(scratch.path, 'key');
    const before = process.umask(0);
    try {
      await createKeyFile(path);
    } finally {
      process.umask(before);
    }
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const text = readFileSync(path, 'utf8');
    expect(await readKeyFile(path)).toEqual(parseKey(text, 'here'));
    await expect(createKeyFile(path)).rejects.toMatchObject({
      code: 'EEXIST',
      advice: expect.stringContaining('another name'),
    });
    expect(readFileSync(path, 'utf8')).toBe(text);
  });

  it.each([0o640, 0o604, 0o620, 0o666])('of mode %o is refused with advice', async (mode) => {
    const path = join(scratch.path, 'key');
    writeFileSync(path, newKey());
    chmodSync(path, mode);
    await expect(readKeyFile(path)).rejects.toMatchObject({
      code: 'ERR_RDMC_INVALID_KEY',
      exitCode: 2,
      message: expect.stringContaining(`(mode 0${mode.toString(8)})`),
      advice: `chmod 600 ${path}`,
    });
  });

  it('that is a directory, missing or too long is refused', async () => {
    const path = join(scratch.path, 'directory');
    mkdirSync(path);
    await expect(readKeyFile(path)).rejects.toMatchObject({ code: 'ERR_RDMC_INVALID_KEY' });
    await expect(readKeyFile(join(scratch.path, 'none'))).rejects.toMatchObject({
      code: 'ENOENT',
      exitCode: 2,
    });
    const long = join(scratch.path, 'long');
    writeFileSync(long, 'a'.repeat(5000), { mode: 0o600 });
    await expect(readKeyFile(long)).rejects.toMatchObject({
      message: expect.stringContaining('not a key file'),
    });
  });
});

describe('the key of a run', () => {
  const key = Uint8Array.from(randomBytes(32));
  const hex = Buffer.from(key).toString('hex');
  const noLine = (): Promise<string> => Promise.reject(new Error('standard input is not to be read'));

  it('is the one of the file, of standard input, of the environment, or none', async () => {
    const path = join(scratch.path, 'key');
    writeFileSync(path, hex, { mode: 0o600 });
    const other = { RDMC_KEY: newKey() };
    expect(await findKey({ keyFile: path, keyStdin: false }, other, noLine)).toEqual(key);
    expect(await findKey({ keyStdin: true }, other, async () => hex)).toEqual(key);
    expect(await findKey({ keyStdin: false }, { RDMC_KEY: hex }, noLine)).toEqual(key);
    expect(await findKey({ keyStdin: false }, {}, noLine)).toBeUndefined();
    await expect(findKey({ keyFile: path, keyStdin: true }, {}, noLine)).rejects.toMatchObject({
      code: 'ERR_RDMC_USAGE',
    });
    await expect(findKey({ keyStdin: false }, { RDMC_KEY: '' }, noLine)).rejects.toMatchObject({
      code: 'ERR_RDMC_INVALID_KEY',
    });
  });
});

describe('standard input', () => {
  it('gives its first line, in any pieces, and then its end', async () => {
    const stream = new PassThrough();
    const line = firstLine(stream);
    for (const byte of Buffer.from('schlüssel')) stream.write(Buffer.from([byte]));
    stream.write('\nmore');
    expect(await line).toBe('schlüssel');
    const ended = new Promise<void>((resolve) => onEnd(stream, resolve));
    stream.end('and more');
    await ended;
    expect(stream.readableEnded).toBe(true);
  });

  it('gives what there is when it ends without a line feed', async () => {
    const stream = new PassThrough();
    stream.end('all');
    expect(await firstLine(stream)).toBe('all');
    await new Promise<void>((resolve) => onEnd(stream, resolve));
  });

  it('is read up to a limit', async () => {
    const stream = new PassThrough();
    stream.write('x'.repeat(70_000));
    await expect(firstLine(stream)).rejects.toMatchObject({ code: 'ERR_RDMC_USAGE' });
  });

  it('is not waited for after an abort', async () => {
    const line = firstLine(new PassThrough(), AbortSignal.abort(new Error('enough')));
    await expect(line).rejects.toThrow('enough');
  });
});

describe('rdmc key', () => {
  it('prints a key', async () => {
    const { code, stdout } = await answer('key');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^[0-9a-f]{64}\n$/);
  });

  it('makes a key file, once', async () => {
    const path = join(scratch.path, 'cast.key');
    const first = await answer('key', path);
    expect(first).toMatchObject({ code: 0, stderr: '' });
    expect(first.stdout).not.toContain(readFileSync(path, 'utf8').trim());
    expect(await readKeyFile(path)).toHaveLength(32);
    const second = await answer('key', path);
    expect(second.code).toBe(1);
    expect(second.stderr).toContain('error EEXIST: cannot write the key file');
  });
});
