import { mkdirSync, readdirSync, symlinkSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { StateStore } from '@rdmc/tailwind/coordinator';
import { type LogSurvey, lockReplicaDirectory, type surveyLog } from '@rdmc/tailwind/salvage';
import { temporaryDirectory } from '@rdmc/testing';
import { afterAll, afterEach, expect, it, onTestFinished, vi } from 'vitest';
import type { countKeys } from '../src/salvage/count-keys.js';
import { type SalvageOptions, salvage } from '../src/salvage/salvage.js';
import { salvageText } from '../src/salvage/text.js';

// Other files have loaded these modules, and will use them again, without the mock.
vi.hoisted(() => vi.resetModules());
afterAll(() => void vi.resetModules());
const counting = vi.hoisted(() => ({ error: undefined as Error | undefined }));
/** A segment, in place of what is found of each log. */
const finding = vi.hoisted(() => ({ segment: undefined as LogSurvey['segments'][number] | undefined }));
vi.mock('../src/salvage/count-keys.js', async (original) => {
  const real: { countKeys: typeof countKeys } = await original();
  const mocked: typeof countKeys = async (...args) => {
    if (counting.error) throw counting.error;
    return finding.segment ? { keys: 1, entries: 1 } : real.countKeys(...args);
  };
  return { countKeys: mocked };
});
vi.mock('@rdmc/tailwind/salvage', async (original) => {
  const real: { surveyLog: typeof surveyLog } = await original();
  const mocked: typeof surveyLog = (...args) => {
    const survey = real.surveyLog(...args);
    return finding.segment ? { ...survey, isComplete: true, segments: [finding.segment] } : survey;
  };
  return { ...real, surveyLog: mocked };
});
afterEach(() => {
  finding.segment = undefined;
});

const LOCKED = { code: 'ERR_RDMC_STATE_LOCKED' };

/** A coordinator's state in memory: one log of server 1, which has all slots. */
class State implements StateStore {
  onPut: () => void = () => {};
  readonly #values = new Map([
    ['cluster', '00112233-4455-6677-8899-aabbccddeeff'],
    [
      'log/1',
      JSON.stringify({
        logId: '1',
        incarnation: 1,
        owner: 1,
        state: 'live',
        recoverer: null,
        minimum: { segmentId: '0', epoch: 0 },
        successors: [],
      }),
    ],
    ['kv/slots', JSON.stringify([[0, 16_383, '1']])],
  ]);

  async get(key: string) {
    const value = this.#values.get(key);
    return value === undefined ? undefined : { value, revision: 1 };
  }

  async list(prefix: string) {
    const found = [...this.#values].filter(([key]) => key.startsWith(prefix));
    return new Map(found.map(([key, value]) => [key, { value, revision: 1 }]));
  }

  async put(key: string, value: string): Promise<number> {
    this.onPut();
    this.#values.set(key, value);
    return 1;
  }

  async close(): Promise<void> {}
}

async function clusterOfTwo() {
  const root = temporaryDirectory('kv-salvage');
  const directories = [1, 2].map((server) => join(root, `server-${server}`));
  for (const directory of directories) mkdirSync(directory);
  const store = new State();
  const run = (options: Partial<SalvageOptions> = {}) =>
    salvage(store, { place: 'memory', roots: [root], without: [], acceptLoss: false, ...options });
  const locks = () => directories.map((each) => readdirSync(each).length);
  return { root, directories, store, run, locks };
}

it('no server may use its directory from before the first is read until the loss is recorded', async () => {
  const { directories, store, run, locks } = await clusterOfTwo();
  {
    await using _ = await lockReplicaDirectory(directories[1]!);
    const unreadable = join(directories[0]!, 'x.replica');
    mkdirSync(unreadable);
    await expect(run()).rejects.toMatchObject(LOCKED);
    await expect(run({ acceptLoss: true })).rejects.toMatchObject(LOCKED);
    await rm(unreadable, { recursive: true });
  }
  expect(locks()).toEqual([0, 0]);
  let meanwhile: number[] = [];
  store.onPut = () => {
    meanwhile = locks();
  };
  expect(await run({ acceptLoss: true })).toMatchObject({ outcome: 'accepted' });
  expect([meanwhile, locks()]).toEqual([
    [1, 1],
    [0, 0],
  ]);
});

it('a directory that is named twice is there once', async () => {
  const { root, run } = await clusterOfTwo();
  const other = `${root}-link`;
  symlinkSync(root, other);
  onTestFinished(() => rm(other));
  const { directories } = await run({ roots: [root, other] });
  expect(directories.map(({ server }) => server)).toEqual([1, 2]);
});

it('gives nothing up where it cannot report what there is', async () => {
  const { run } = await clusterOfTwo();
  counting.error = new Error('unreadable');
  await expect(run({ acceptLoss: true })).rejects.toThrow('unreadable');
  counting.error = undefined;
  expect(await run()).toMatchObject({ outcome: 'incomplete', logs: [{ isLossAccepted: false }] });
});

it('gives nothing up where files of a server are not there, unless they are said to be lost', async () => {
  const { directories, run } = await clusterOfTwo();
  await rm(directories[0]!, { recursive: true });
  await expect(run({ acceptLoss: true })).rejects.toMatchObject({ code: 'ERR_RDMC_KV_FILES_MISSING' });
  expect(await run()).toMatchObject({ outcome: 'incomplete', absent: [1] });
  expect(await run({ acceptLoss: true, without: [1] })).toMatchObject({ outcome: 'accepted', absent: [] });
});

it('says that the loss was accepted already, and takes what is listed now when told again', async () => {
  const { run } = await clusterOfTwo();
  await run({ acceptLoss: true });
  const report = await run();
  expect(report).toMatchObject({ outcome: 'accepted-before', logs: [{ isLossAccepted: true }] });
  expect(salvageText(report)).toContain('The loss was accepted already');
  expect(await run({ acceptLoss: true })).toMatchObject({ outcome: 'accepted' });
});

it('takes what was found later of a log whose loss was accepted, be it all', async () => {
  const { run, store } = await clusterOfTwo();
  await run({ acceptLoss: true });
  finding.segment = { segmentId: 7n, byteLength: 100, file: { path: 'found' } } as typeof finding.segment;
  let puts = 0;
  store.onPut = () => {
    puts += 1;
  };
  expect(await run({ acceptLoss: true })).toMatchObject({
    outcome: 'accepted',
    logs: [{ isComplete: true }],
  });
  expect(puts).toBe(1);
});

it('says which segments may bring removed keys back', async () => {
  const { run } = await clusterOfTwo();
  const report = await run();
  expect(salvageText(report)).not.toContain('doubtful');
  const logs = report.logs.map((log) => ({ ...log, doubtful: ['20', '23'] }));
  const text = salvageText({ ...report, logs });
  expect(text).toContain('doubtful: segments 20, 23');
  expect(text).toContain('keys that were removed long ago may exist again');
});
