import { closeSync, openSync, readdirSync, statSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import type { ProcessIdentity } from '@rdmc/common';
import { temporaryDirectory } from '@rdmc/testing';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { ABANDONED_MS, RESTARTED_MS, TOUCH_INTERVAL_MS } from '../src/constants.js';
import { leftoversElsewhere, removeLeftovers } from '../src/writer/leftovers.js';
import { describeOwner } from '../src/writer/owner.js';
import { StreamWriter } from '../src/writer/stream-writer.js';
import { TemporaryDirectory } from '../src/writer/temporary-directory.js';
import { CHECKSUM } from './support/local-cast.js';
import { encode } from './support/records.js';
import { write } from './support/tree.js';
import { file } from './support/writer-records.js';

it('temporary directories of other containers and hosts are named, and are removed when nobody has touched them for long', () => {
  const inside = temporaryDirectory();
  const own = JSON.parse(describeOwner()) as ProcessIdentity;
  // A number that is in use here means nothing elsewhere.
  const owners: Record<string, unknown> = {
    alive: own,
    container: { ...own, pids: 'pid:[1]' },
    host: { ...own, host: 'another', boot: 'another' },
    restarted: { ...own, pids: 'pid:[1]', boot: 'another' },
    strange: 'text',
  };
  for (const [name, owner] of Object.entries(owners))
    write(inside, `.rdmc-cast-${name}/owner`, JSON.stringify(owner));
  const root = openSync(inside, 'r');
  const now = Date.now();
  const removedAfter = (ms: number): string[] => removeLeftovers(root, false, now + ms).sort();
  expect(leftoversElsewhere(root).sort()).toEqual(
    ['container', 'host', 'restarted'].map((name) => `.rdmc-cast-${name}`),
  );
  expect(removedAfter(RESTARTED_MS / 2)).toEqual([]);
  expect(removedAfter(RESTARTED_MS * 2)).toEqual(['.rdmc-cast-restarted']);
  expect(removedAfter(ABANDONED_MS / 2)).toEqual([]);
  expect(removedAfter(ABANDONED_MS * 2)).toEqual(['.rdmc-cast-container', '.rdmc-cast-host']);
  expect(removedAfter(ABANDONED_MS * 1000)).toEqual([]);
  expect(leftoversElsewhere(root)).toEqual([]);
  closeSync(root);
  expect(readdirSync(inside).sort()).toEqual(['.rdmc-cast-alive', '.rdmc-cast-strange']);
});

describe('a receiver shows receivers in other containers that it runs', () => {
  afterEach(() => {
    vi.useRealTimers();
    vi.restoreAllMocks();
  });
  const old = new Date(1_000_000_000);
  const isTouched = (path: string): boolean => statSync(path).mtimeMs > Number(old);

  it('by touching its directory while it waits, and not any more when it has ended', () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
    const inside = temporaryDirectory();
    const root = openSync(inside, 'r');
    const temporary = new TemporaryDirectory(root, 'id');
    const path = join(inside, '.rdmc-cast-id');
    for (let minute = 0; minute < 3; minute += 1) {
      utimesSync(path, old, old);
      vi.advanceTimersByTime(TOUCH_INTERVAL_MS);
      expect(isTouched(path)).toBe(true);
    }
    temporary.remove();
    expect(vi.getTimerCount()).toBe(0);
    expect(() => temporary.touch()).not.toThrow();
    closeSync(root);
  });

  it('by touching its directory in long work, which no timer interrupts', () => {
    const inside = temporaryDirectory();
    const writer = new StreamWriter(inside, 'id', CHECKSUM);
    const path = join(inside, '.rdmc-cast-id');
    const [begin, data, end] = file(0, 'f');
    writer.store(0, encode([begin!], 0));
    utimesSync(path, old, old);
    // Time passes, and no timer fires.
    const later = performance.now() + 2 * TOUCH_INTERVAL_MS;
    vi.spyOn(performance, 'now').mockReturnValue(later);
    writer.store(1, encode([data!], 1));
    expect(isTouched(path)).toBe(true);
    writer.store(2, encode([end!], 2));
    writer.close();
  });
});
