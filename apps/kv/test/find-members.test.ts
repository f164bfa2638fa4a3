/** How a server that joins finds the members of the cluster, and what it keeps of them. */
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { refusal, rejection, temporaryDirectory } from '@rdmc/testing';
import { afterEach, expect, it, vi } from 'vitest';
import { findMembers, RETRY_MS } from '../src/cli/find-members.js';
import { KvError, type KvErrorCode } from '../src/errors.js';
import { keepMembers, keptMembers } from '../src/node/kept-members.js';

const WAIT_MS = 60_000;
const MEMBERS = { clusterId: 'kv x', members: [{ id: 0, host: '10.0.0.1', port: 7400 }] };
const OTHERS = { ...MEMBERS, clusterId: 'kv y' };

const failing = (code: KvErrorCode) => async (): Promise<never> => {
  throw new KvError(code, 'no');
};
const away = failing('ERR_RDMC_KV_UNREACHABLE');
/** Of a server that waits. */
const silent = () => new Promise<never>(() => {});

afterEach(() => {
  vi.useRealTimers();
});

it('the first server that answers says the members, whatever was kept', async () => {
  const asks = [silent, away, async () => MEMBERS];
  for (const kept of [undefined, OTHERS])
    expect(await findMembers({ asks, kept, waitMs: WAIT_MS })).toBe(MEMBERS);
});

it('where no server answers, the kept members are used, and none is asked again', async () => {
  const ask = vi.fn(away);
  const ended = failing('ERR_RDMC_KV_MEMBER_LOST');
  expect(await findMembers({ asks: [ask, ended], kept: MEMBERS, waitMs: WAIT_MS })).toBe(MEMBERS);
  expect(ask).toHaveBeenCalledTimes(1);
});

it('where none were kept, servers that do not answer are asked again until one does', async () => {
  vi.useFakeTimers();
  let asked = 0;
  const ask = async () => {
    asked += 1;
    return asked < 3 ? away() : MEMBERS;
  };
  const found = findMembers({ asks: [silent, ask], kept: undefined, waitMs: WAIT_MS });
  await vi.advanceTimersByTimeAsync(RETRY_MS * 2);
  expect(await found).toBe(MEMBERS);
  expect(vi.getTimerCount()).toBe(0);
});

it('at the end of the time the last failure is told, or that no server has answered', async () => {
  vi.useFakeTimers();
  const ask = vi.fn(away);
  const failed = rejection(findMembers({ asks: [ask], kept: undefined, waitMs: WAIT_MS }));
  const unanswered = rejection(findMembers({ asks: [silent], kept: undefined, waitMs: WAIT_MS }));
  await vi.advanceTimersByTimeAsync(WAIT_MS);
  expect(await failed).toMatchObject({ code: 'ERR_RDMC_KV_UNREACHABLE', message: 'no' });
  expect(await unanswered).toMatchObject({
    code: 'ERR_RDMC_KV_UNREACHABLE',
    message: 'no server answered within 60000 ms',
  });
  const asked = ask.mock.calls.length;
  await vi.advanceTimersByTimeAsync(WAIT_MS);
  expect(ask).toHaveBeenCalledTimes(asked);
});

it('another answer than the members ends the search, also where members were kept', async () => {
  const asks = [silent, failing('ERR_RDMC_KV_UNAUTHENTICATED')];
  for (const kept of [undefined, MEMBERS])
    await expect(findMembers({ asks, kept, waitMs: WAIT_MS })).rejects.toEqual(
      refusal('ERR_RDMC_KV_UNAUTHENTICATED'),
    );
});

it('members are kept in a directory, and replaced; a damaged file is not used', async () => {
  const directory = join(temporaryDirectory('kv-kept'), 'a', 'server-5');
  expect(await keptMembers(directory)).toBeUndefined();
  await keepMembers(directory, OTHERS);
  await keepMembers(directory, MEMBERS);
  expect(await keptMembers(directory)).toEqual(MEMBERS);
  expect(readdirSync(directory)).toEqual(['members.json']);
  for (const content of ['{"clusterId":', '{"clusterId":"kv x"}']) {
    writeFileSync(join(directory, 'members.json'), content);
    await expect(keptMembers(directory)).rejects.toMatchObject({
      code: 'ERR_RDMC_KV_INVALID_OPTION',
      message: expect.stringContaining(join(directory, 'members.json')),
    });
  }
});

it('a crash while the file is written leaves the former members', async () => {
  const directory = temporaryDirectory('kv-kept');
  await keepMembers(directory, MEMBERS);
  // The unfinished file cannot be opened.
  mkdirSync(join(directory, 'members.json.tmp'));
  await expect(keepMembers(directory, OTHERS)).rejects.toMatchObject({ code: 'EISDIR' });
  expect(await keptMembers(directory)).toEqual(MEMBERS);
});
