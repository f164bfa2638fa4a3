import { execFile } from 'node:child_process';
import { chmodSync, chownSync, lstatSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ofClass, temporaryDirectory, thrown } from '@rdmc/testing';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { USER_KEY_BYTES, UserKeyError, userKey, userKeyDirectory } from '../src/user-key.js';

const execute = promisify(execFile);
let runtime: string;

beforeEach(() => {
  runtime = temporaryDirectory();
  vi.stubEnv('XDG_RUNTIME_DIR', runtime);
});

afterEach(() => {
  vi.unstubAllEnvs();
});

const directory = () => join(runtime, 'rdmc');
const file = () => join(directory(), 'user-key');

function refusal(): UserKeyError {
  return ofClass(UserKeyError, thrown(userKey));
}

test('the first call makes the key, and later calls find it', () => {
  const key = userKey();
  expect(key).toHaveLength(USER_KEY_BYTES);
  expect(userKey()).toEqual(key);
  expect(lstatSync(directory()).mode & 0o777).toBe(0o700);
  expect(lstatSync(file()).mode & 0o777).toBe(0o600);
  expect(readdirSync(directory())).toEqual(['user-key']);
});

test('processes that begin at once have one key', async () => {
  const script = `import { userKey } from '@rdmc/common'; console.log(userKey().toString('hex'));`;
  const keys = await Promise.all(
    Array.from({ length: 6 }, async () => {
      const cwd = join(import.meta.dirname, '..');
      const { stdout } = await execute(process.execPath, ['--input-type=module', '-e', script], { cwd });
      return stdout.trim();
    }),
  );
  expect(keys[0]).toMatch(/^[0-9a-f]{64}$/);
  expect(new Set(keys).size).toBe(1);
});

test('a directory that others may enter is refused, with what to do', () => {
  mkdirSync(directory());
  chmodSync(directory(), 0o755);
  expect(refusal()).toMatchObject({ code: 'ERR_RDMC_USER_KEY' });
  expect(refusal().message).toContain(`chmod go= ${directory()}`);
});

test('a directory that is a symbolic link is refused', () => {
  const elsewhere = join(runtime, 'elsewhere');
  mkdirSync(elsewhere, { mode: 0o700 });
  symlinkSync(elsewhere, directory());
  expect(refusal().message).toContain('is not a directory');
});

test('a key that others may read is refused', () => {
  userKey();
  chmodSync(file(), 0o644);
  expect(refusal().message).toContain('0644');
});

test('a key that is a symbolic link is refused', () => {
  mkdirSync(directory(), { mode: 0o700 });
  const elsewhere = join(runtime, 'elsewhere');
  writeFileSync(elsewhere, Buffer.alloc(USER_KEY_BYTES), { mode: 0o600 });
  symlinkSync(elsewhere, file());
  expect(refusal().message).toContain('symbolic link');
});

test.each([0, USER_KEY_BYTES - 1, USER_KEY_BYTES + 1])('a key of %i bytes is refused', (length) => {
  mkdirSync(directory(), { mode: 0o700 });
  writeFileSync(file(), Buffer.alloc(length), { mode: 0o600 });
  expect(refusal().message).toContain(`${USER_KEY_BYTES} bytes`);
});

test.runIf(process.getuid?.() === 0)('a directory of another user is refused (RUN AS root to enable)', () => {
  mkdirSync(directory(), { mode: 0o700 });
  chownSync(directory(), 12345, 12345);
  expect(refusal().message).toContain('belongs to user 12345');
});

test.each(['', 'relative/path', '/there/is/no/such/directory'])(
  'without a usable XDG_RUNTIME_DIR (%j) it is in /tmp',
  (value) => {
    vi.stubEnv('XDG_RUNTIME_DIR', value);
    expect(userKeyDirectory()).toBe(`/tmp/rdmc-${process.geteuid!()}`);
  },
);

test.runIf(process.getuid?.() === 0)(
  'without an XDG_RUNTIME_DIR of its own, as after `su`, it is in /tmp (RUN AS root to enable)',
  () => {
    chownSync(runtime, 12345, 12345);
    expect(userKeyDirectory()).toBe(`/tmp/rdmc-${process.geteuid!()}`);
  },
);
