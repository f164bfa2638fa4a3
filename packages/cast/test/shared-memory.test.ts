import { execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { castFile, followShared, receiveFiles, type SharedRecord } from '@rdmc/cast';
import { ownIdentity } from '@rdmc/common';
import { PYTHON, rejection, temporaryDirectory, thrown, until } from '@rdmc/testing';
import { afterEach, describe, expect, it } from 'vitest';
import { INDEX_BYTES, INDEX_MAGIC, IndexState } from '../src/memory/shared/layout.js';
import { SharedName } from '../src/memory/shared/shared-name.js';
import { SharedTarget } from '../src/memory/shared/shared-target.js';
import { directoryWith, LATE, lateTensorFile, seededModel } from './support/safetensors.js';
import { seededBytes, write } from './support/tree.js';

const open: (() => Promise<unknown> | unknown)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
});

const TENSOR_BYTES = 300_000;
const NAMES = ['a', 'b', 'c'];
const model = seededModel(NAMES, TENSOR_BYTES);

const freshName = (): string => `rdmc-test-${randomBytes(8).toString('hex')}`;
const inShared = (name: string): string => join('/dev/shm', name);
/** What is in /dev/shm under a name. */
const present = (name: string): string[] => readdirSync('/dev/shm').filter((each) => each.startsWith(name));
const contents = ({ segment }: SharedRecord): Buffer => readFileSync(inShared(segment));

const source = (): string => directoryWith(model);

/** A file of which a tensor arrives long before the rest. */
function lateSource(): string {
  return write(temporaryDirectory(), 'm.safetensors', lateTensorFile());
}

async function sharedReceiver(options: Parameters<typeof receiveFiles>[0] = {}) {
  const name = freshName();
  const receiver = await receiveFiles({ sharedMemory: name, port: 0, ...options });
  open.push(() => receiver.close());
  return { name, receiver, to: receiver.address };
}

async function followed(name: string): Promise<SharedRecord[]> {
  const records: SharedRecord[] = [];
  for await (const record of followShared(name)) records.push(record);
  return records;
}

/** A process that lived. */
function endedProcess(): string {
  return JSON.stringify({ ...ownIdentity(), startedAt: '1' });
}

describe('named shared memory', () => {
  it.each([true, false])(
    'has each file and each tensor, for this user only (encrypted: %s)',
    async (encrypt) => {
      const { name, receiver, to } = await sharedReceiver();
      const following = followed(name);
      await castFile(source(), { to: [to], encrypt }).finished;
      const records = await following;
      const tensors = records.filter((record) => record.type === 'tensor');
      expect(tensors.map((tensor) => [tensor.path, tensor.name])).toEqual(
        NAMES.map((each) => ['root/m.safetensors', each]),
      );
      for (const [at, tensor] of tensors.entries())
        expect(
          contents(tensor).subarray(tensor.begin, tensor.end).equals(seededBytes(TENSOR_BYTES, at)),
        ).toBe(true);
      const files = records.filter((record) => record.type === 'file');
      expect(files.map(({ path, size }) => [path, size])).toEqual([
        ['root/config.json', 2],
        ['root/m.safetensors', model.length],
      ]);
      expect(contents(files[1]!).equals(model)).toBe(true);
      expect(present(name)).toHaveLength(4);
      for (const each of present(name)) expect(statSync(inShared(each)).mode & 0o777).toBe(0o600);
      await receiver.close();
      expect(present(name)).toEqual([]);
    },
  );

  it('is replaced by the next cast; what was mapped stays readable', async () => {
    const { name, to } = await sharedReceiver();
    await castFile(source(), { to: [to] }).finished;
    const first = await followed(name);
    await castFile(source(), { to: [to] }).finished;
    const second = await followed(name);
    expect(second.map(({ path }) => path)).toEqual(first.map(({ path }) => path));
    expect(present(name)).toHaveLength(4);
    expect(present(name)).toEqual(expect.arrayContaining(second.map(({ segment }) => segment)));
    expect(present(name)).not.toContain(first[0]!.segment);
  });

  it('is removed when the cast fails half-way; the consumer has the tensors that arrived, and learns of it', async () => {
    const { name, to } = await sharedReceiver();
    const cast = castFile(lateSource(), { to: [to], ...LATE });
    const seen: SharedRecord[] = [];
    const following = rejection(
      (async () => {
        for await (const record of followShared(name)) {
          seen.push(record);
          cast.abort();
        }
      })(),
    );
    await rejection(cast.finished);
    expect((await following).code).toBe('ERR_RDMC_SHARED_MEMORY_GONE');
    expect(seen).toMatchObject([{ type: 'tensor', name: 'a' }]);
    // The index says so before the names are gone.
    await until(() => present(name).length === 1);
    expect(present(name)).toEqual([`${name}.rdmc-owner`]);
    // The next one works.
    await castFile(source(), { to: [to] }).finished;
    expect(await followed(name)).toHaveLength(NAMES.length + 2);
  });

  it('is removed when the receiver is closed in the middle', async () => {
    const { name, receiver, to } = await sharedReceiver();
    const cast = castFile(lateSource(), { to: [to], ...LATE });
    const failed = rejection(cast.finished);
    const following = rejection(
      (async () => {
        for await (const _ of followShared(name)) void receiver.close();
      })(),
    );
    await failed;
    expect((await following).code).toBe('ERR_RDMC_SHARED_MEMORY_GONE');
    await receiver.close();
    expect(present(name)).toEqual([]);
  });

  it('takes one cast at a time', async () => {
    const { name, to } = await sharedReceiver();
    const cast = castFile(lateSource(), { to: [to], ...LATE });
    const ended = rejection(cast.finished);
    for await (const _ of followShared(name)) break;
    expect((await rejection(castFile(source(), { to: [to] }).finished)).code).toBe('ERR_RDMC_BUSY');
    cast.abort();
    await ended;
  });

  it('can be mapped by another program', async () => {
    const { name, to } = await sharedReceiver();
    await castFile(source(), { to: [to] }).finished;
    const program = `
import json, mmap, struct, sys
def mapped(name):
    with open('/dev/shm/' + name, 'rb') as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
index = mapped(sys.argv[1])
magic, version, state = struct.unpack_from('<8sII', index)
assert (magic, version, state) == (b'RDMCSHM1', 1, 1), (magic, version, state)
at = 16
while struct.unpack_from('<I', index, at)[0] == 1:
    length = struct.unpack_from('<I', index, at + 4)[0]
    record = json.loads(index[at + 8:at + 8 + length])
    at += (8 + length + 7) // 8 * 8
    if record['type'] == 'tensor':
        print(record['name'], sum(mapped(record['segment'])[record['begin']:record['end']]))
`;
    const child = spawn(PYTHON, ['-c', program, name], { stdio: ['ignore', 'pipe', 'inherit'] });
    let printed = '';
    for await (const chunk of child.stdout) printed += String(chunk);
    const sums = NAMES.map((_, at) => seededBytes(TENSOR_BYTES, at).reduce((sum, byte) => sum + byte, 0));
    expect(printed).toBe(NAMES.map((each, at) => `${each} ${sums[at]}\n`).join(''));
  });

  it('has only the part that is wanted; the rest are holes', async () => {
    const { name, to } = await sharedReceiver({ parts: { tensors: ['b'] } });
    await castFile(join(source(), 'm.safetensors'), { to: [to] }).finished;
    const [tensor, file] = await followed(name);
    expect(tensor).toMatchObject({ type: 'tensor', name: 'b' });
    expect(file).toMatchObject({
      type: 'file',
      ranges: [{ begin: 0 }, { end: model.length - TENSOR_BYTES }],
    });
    const { blocks } = statSync(inShared(file!.segment));
    expect(blocks * 512).toBeLessThan(2 * TENSOR_BYTES);
  });
});

describe('a name of shared memory', () => {
  const created: string[] = [];
  const put = (name: string, text: string | Buffer): void => {
    writeFileSync(inShared(name), text);
    created.push(name);
  };
  afterEach(async () => {
    const { rmSync } = await import('node:fs');
    for (const name of created.splice(0)) rmSync(inShared(name), { force: true, recursive: true });
  });

  it('is free again after a receiver that was killed, and what it has left is removed', () => {
    const name = freshName();
    put(`${name}.rdmc-owner`, endedProcess());
    put(name, Buffer.concat([INDEX_MAGIC, Buffer.alloc(8)]));
    put(`${name}.rdmc-${randomBytes(4).toString('hex')}-0`, 'contents');
    put(`${name}.other`, 'of somebody else');
    const claimed = SharedName.claim(name);
    expect(present(name).sort()).toEqual([`${name}.other`, `${name}.rdmc-owner`]);
    claimed.release();
    expect(present(name)).toEqual([`${name}.other`]);
  });

  it('of a receiver that was killed: who follows it learns of that, and has what was whole', async () => {
    const name = freshName();
    const index = (state: number) => Buffer.concat([INDEX_MAGIC, Buffer.from([1, 0, 0, 0, state, 0, 0, 0])]);
    put(`${name}.rdmc-owner`, endedProcess());
    put(name, index(IndexState.ARRIVING));
    expect((await rejection(followed(name))).code).toBe('ERR_RDMC_SHARED_MEMORY_GONE');
    put(name, index(IndexState.WHOLE));
    expect(await followed(name)).toEqual([]);
  });

  it.each<[string, (path: string) => unknown]>([
    ['a link', (path) => symlinkSync('/dev/null', path)],
    ['a pipe', (path) => execFileSync('/usr/bin/mkfifo', [path])],
    ['a directory', (path) => mkdirSync(path)],
  ])('that is %s is neither followed nor taken, and stays', async (_, make) => {
    const name = freshName();
    created.push(name);
    make(inShared(name));
    expect((await rejection(followed(name))).code).toBe('ERR_RDMC_SHARED_NAME_IN_USE');
    expect(thrown(() => SharedName.claim(name)).code).toBe('ERR_RDMC_SHARED_NAME_IN_USE');
    expect(present(name)).toEqual([name]);
  });

  it('has one receiver', async () => {
    const { name, receiver } = await sharedReceiver();
    const second = await rejection(receiveFiles({ sharedMemory: name, port: 0 }));
    expect(second).toMatchObject({ code: 'ERR_RDMC_SHARED_NAME_IN_USE' });
    expect(second.message).toContain(`process id ${process.pid}`);
    expect(present(name)).toEqual([`${name}.rdmc-owner`]);
    await receiver.close();
    SharedName.claim(name).release();
  });

  it.each([
    ['a receiver in another container', () => JSON.stringify({ ...ownIdentity(), pids: 'pid:[1]' })],
    ['an owner that cannot be read', () => 'nobody'],
  ])('of %s is not taken', (_, owner) => {
    const name = freshName();
    put(`${name}.rdmc-owner`, owner());
    expect(thrown(() => SharedName.claim(name)).code).toBe('ERR_RDMC_SHARED_NAME_IN_USE');
    expect(present(name)).toEqual([`${name}.rdmc-owner`]);
  });

  it('of something else is not taken, and not removed', () => {
    const name = freshName();
    put(name, 'not an index');
    expect(thrown(() => SharedName.claim(name)).code).toBe('ERR_RDMC_SHARED_NAME_IN_USE');
    expect(present(name)).toEqual([name]);
  });

  it.each(['', '.a', 'a/b', '..', 'a\0', 'a b', 'a.rdmc-b', 'x'.repeat(101), 5])(
    'cannot be %j',
    async (name) => {
      const error = await rejection(receiveFiles({ sharedMemory: name as string, port: 0 }));
      expect(error.code).toBe('ERR_RDMC_INVALID_OPTION');
    },
  );

  it.each([
    ['of a directory', { directory: '/tmp', parts: {} }],
    ['without patterns', { sharedMemory: 'a', parts: { tensors: [] } }],
    ['of a range that is empty', { sharedMemory: 'a', parts: { ranges: [{ path: 'a', begin: 1, end: 1 }] } }],
    ['of a range without a path', { sharedMemory: 'a', parts: { ranges: [{ begin: 1, end: 2 } as never] } }],
  ])('with parts %s is refused', async (_, options) => {
    expect((await rejection(receiveFiles({ port: 0, ...options }))).code).toBe('ERR_RDMC_INVALID_OPTION');
  });
});

describe('the index', () => {
  it('refuses more records than it has room for', async () => {
    const name = freshName();
    const target = new SharedTarget(name, 'cast');
    open.push(() => target.close());
    const time = { seconds: 0, nanoseconds: 0 };
    await target.allocate({ index: 0, path: Buffer.from('file'), size: 1, mode: 0o644, time });
    const tensor = { name: 'n'.repeat(INDEX_BYTES / 4), dtype: 'U8', shape: [1], begin: 0, end: 1 };
    const full = (async () => {
      for (let at = 0; at < 4; at += 1) await target.tensors(0, [tensor]);
    })();
    expect((await rejection(full)).code).toBe('ERR_RDMC_NO_SPACE');
    target.close();
    expect(present(name)).toEqual([]);
  });
});
