import { expect, it } from 'vitest';
import { leftOutLines } from '../config/left-out.js';

const file = 'test/a.test.ts';
const thread = 'a device, one thread';
const tests = [
  { file, names: [thread, 'death', 'flushes [skipped: one thread has no process]'] },
  { file, names: [thread, 'closing', 'a kill [skipped: one thread has no process]'] },
  { file, names: [thread, 'sizes', 'large [skipped: set LARGE=1 to run it]'] },
  { file, names: ['a device, two threads', 'death', 'flushes [skipped: one thread has no process]'] },
  { file, names: ['mounts (needs root)'] },
  { file: 'test/b.test.ts', names: ['groups [skipped: no g++]', 'one'] },
  { file: 'test/b.test.ts', names: ['groups [skipped: no g++]', 'two'] },
  { file: 'test/c.test.ts', names: ['first [skipped: no ::1]'] },
  { file: 'test/c.test.ts', names: ['second [skipped: no ::1]'] },
];

it('tests of one suite with one reason are one line with their number', () => {
  expect(leftOutLines(tests, false)).toEqual([
    'test/a.test.ts: a device, one thread: 2 tests [skipped: one thread has no process]',
    'test/a.test.ts: a device, one thread > sizes > large [skipped: set LARGE=1 to run it]',
    'test/a.test.ts: a device, two threads > death > flushes [skipped: one thread has no process]',
    'test/a.test.ts: mounts (needs root)',
    'test/b.test.ts: groups: 2 tests [skipped: no g++]',
    'test/c.test.ts: 2 tests [skipped: no ::1]',
  ]);
});

it('every name is available', () => {
  expect(leftOutLines(tests, true)).toEqual(
    tests.map(({ file: name, names }) => `${name}: ${names.join(' > ')}`),
  );
});
