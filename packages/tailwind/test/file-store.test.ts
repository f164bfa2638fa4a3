import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { ownIdentity, type ProcessIdentity, processState } from '@rdmc/common';
import { FileStore } from '@rdmc/tailwind/coordinator';
import { refusal, temporaryDirectory } from '@rdmc/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { stateStoreContract } from './support/state-store-contract.js';

describe('the file store as a state store', () => {
  stateStoreContract(() => {
    const path = join(temporaryDirectory(), 'deep', 'er', 'state');
    return { open: () => FileStore.open(path) };
  });
});

const range = (least: number, most: number) => ({ least, most });

describe('the file store', () => {
  it.each([
    [
      'another format',
      'ERR_RDMC_STATE_FOREIGN_VERSION',
      (text: string) => text.replace('"format":1', '"format":2'),
    ],
    ['a changed byte', 'ERR_RDMC_STATE_DAMAGED', (text: string) => text.replace('one', 'two')],
    ['half a file', 'ERR_RDMC_STATE_DAMAGED', (text: string) => text.slice(0, text.length / 2)],
    ['a file without its last byte', 'ERR_RDMC_STATE_DAMAGED', (text: string) => text.slice(0, -1)],
    ['two files in one', 'ERR_RDMC_STATE_DAMAGED', (text: string) => text + text],
    ['nothing', 'ERR_RDMC_STATE_DAMAGED', () => ''],
  ])('refuses %s, leaves it as it is, and is not locked by that', async (_, code, change) => {
    const path = join(temporaryDirectory(), 'state');
    const store = await FileStore.open(path);
    await store.put('a', 'one', 0);
    await store.close();
    const whole = readFileSync(path, 'utf8');
    writeFileSync(path, change(whole));
    await expect(FileStore.open(path)).rejects.toEqual(refusal(code));
    expect(readFileSync(path, 'utf8')).toBe(change(whole));
    writeFileSync(path, whole);
    const again = await FileStore.open(path);
    expect((await again.get('a'))?.value).toBe('one');
    await again.close();
  });

  it('keeps the level, which a process of a lower one cannot open, and reads those of its range', async () => {
    const path = join(temporaryDirectory(), 'state');
    const [old, middle, next] = [range(1, 1), range(1, 2), range(2, 3)];
    const first = await FileStore.open(path, old);
    const revision = await first.put('a', 'one', 0);
    expect(first.level).toBe(1);
    await first.close();
    const foreign = refusal('ERR_RDMC_STATE_FOREIGN_VERSION');
    await expect(FileStore.open(path, next)).rejects.toEqual(foreign);
    const second = await FileStore.open(path, middle);
    expect(second.level).toBe(1);
    await second.put('b', 'two', 0);
    await second.close();
    // Not raised: there is a way back.
    const back = await FileStore.open(path, old);
    expect(await back.get('a')).toEqual({ value: 'one', revision });
    await back.close();
    const third = await FileStore.open(path, middle);
    await third.raiseLevel(2);
    await third.raiseLevel(1);
    expect(third.level).toBe(2);
    await third.put('c', 'three', 0);
    await third.close();
    await expect(FileStore.open(path, old)).rejects.toEqual(foreign);
    const fourth = await FileStore.open(path, next);
    expect([fourth.level, (await fourth.list('')).size]).toEqual([2, 3]);
    await fourth.close();
  });

  it('of a new state has the highest level of the process', async () => {
    const store = await FileStore.open(join(temporaryDirectory(), 'state'), range(2, 3));
    expect(store.level).toBe(3);
    await store.close();
  });

  it('leaves only its file when it is closed', async () => {
    const directory = temporaryDirectory();
    const store = await FileStore.open(join(directory, 'state'));
    await store.put('a', 'one', 0);
    await store.close();
    expect(readdirSync(directory)).toEqual(['state']);
  });

  it('rejects when a change cannot be written, keeps the old state, and continues when writing works again', async () => {
    const directory = temporaryDirectory();
    const path = join(directory, 'state');
    const store = await FileStore.open(path);
    const first = await store.put('a', 'one', 0);
    mkdirSync(`${path}.tmp`);
    await expect(store.put('a', 'two', first)).rejects.toEqual(refusal('EISDIR'));
    expect(await store.get('a')).toEqual({ value: 'one', revision: first });
  });

  it('is locked by another process that lives, and not by one that was killed', async () => {
    const path = join(temporaryDirectory(), 'state');
    const program = `import { FileStore } from '@rdmc/tailwind/coordinator';
      const store = await FileStore.open(process.argv[1]);
      await store.put('a', 'one', 0);
      console.log('open');
      setInterval(() => {}, 1000);`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', program, path], {
      cwd: new URL('..', import.meta.url),
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    await once(child.stdout, 'data');
    const second = FileStore.open(path);
    await expect(second).rejects.toEqual(refusal('ERR_RDMC_STATE_LOCKED'));
    await expect(second).rejects.toThrow(String(child.pid));
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
    const store = await FileStore.open(path);
    expect((await store.get('a'))?.value).toBe('one');
    await store.close();
  });

  describe('and the lock of another process', () => {
    const other = { ...ownIdentity(), pid: 4711, startedAt: '1' };
    const ofEarlierBoot = { ...other, boot: 'an earlier one' };

    async function expectTaken(holder: ProcessIdentity): Promise<void> {
      const path = join(temporaryDirectory(), 'state');
      writeFileSync(`${path}.lock.earlier`, JSON.stringify(holder));
      await (await FileStore.open(path)).close();
      expect(existsSync(`${path}.lock.earlier`)).toBe(false);
    }

    it('that has ended is taken', () => expectTaken(other));

    it.skipIf(processState(ofEarlierBoot) === 'elsewhere')(
      'of an earlier boot of this host is taken (RUN outside of containers, with /etc/machine-id, to enable)',
      () => expectTaken(ofEarlierBoot),
    );

    it.each([
      ['on another host', { ...other, host: 'elsewhere', boot: 'its own' }],
      ['on another host of this name', { ...other, boot: 'its own', machine: 'another' }],
      ['of a version that did not name the machine', { ...other, boot: 'its own', machine: undefined }],
      ['in another container of this host', { ...other, pids: 'pid:[1]' }],
      ['in another container of a host of this name', { ...other, pids: 'pid:[1]', boot: 'its own' }],
    ])('%s is left alone, and the error says whose it is and what to do', async (_, holder) => {
      const path = join(temporaryDirectory(), 'state');
      const lock = `${path}.lock.elsewhere`;
      writeFileSync(lock, JSON.stringify(holder));
      const opened = FileStore.open(path);
      await expect(opened).rejects.toEqual(refusal('ERR_RDMC_STATE_LOCKED'));
      for (const word of ['process 4711', `host '${holder.host}'`, `remove its lock: rm ${lock}`]) {
        await expect(opened).rejects.toThrow(word);
      }
      expect(readdirSync(dirname(path))).toEqual(['state.lock.elsewhere']);
    });

    it('is not removed if it does not name its process', async () => {
      const path = join(temporaryDirectory(), 'state');
      const { host: _, ...incomplete } = other;
      writeFileSync(`${path}.lock.old`, JSON.stringify(incomplete));
      await expect(FileStore.open(path)).rejects.toThrow(`remove its lock: rm ${path}.lock.old`);
    });

    it('is removed by the command in the error, also where the path has blanks and quotes', async () => {
      const directory = join(temporaryDirectory(), "node's data");
      mkdirSync(directory);
      const path = join(directory, 'state');
      writeFileSync(`${path}.lock.elsewhere`, JSON.stringify({ ...other, pids: 'pid:[1]' }));
      const error = await FileStore.open(relative(process.cwd(), path)).catch((error: Error) => error);
      const command = /remove its lock: (rm .*)$/.exec((error as Error).message)![1]!;
      execFileSync('sh', ['-c', command], { cwd: '/' });
      await (await FileStore.open(path)).close();
    });
  });
});
