import { Deferred } from '@rdmc/common';
import { expect, it, onTestFinished, vi } from 'vitest';
import { PlannedEnd } from '../src/cli/planned-end.js';

it.each([
  [[0, 75], 0],
  [[75, 0], 0],
  [[1, 75], 1],
  [[75], 75],
])('begun with %j the process ends with %i', async (codes, expected) => {
  const exited = new Deferred<number>();
  const exit = vi
    .spyOn(process, 'exit')
    .mockImplementation((code) => exited.resolve(code as number) as never);
  const on = vi.spyOn(process, 'on').mockReturnThis();
  onTestFinished(() => {
    exit.mockRestore();
    on.mockRestore();
  });
  const end = new PlannedEnd('it', () => {});
  for (const code of codes) end.begin(code);
  expect(await exited.promise).toBe(expected);
});
