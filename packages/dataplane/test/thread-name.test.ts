import { readdirSync, readFileSync } from 'node:fs';
import { until } from '@rdmc/testing';
import { describe, expect, it } from 'vitest';
import { limitRecords } from './fixtures/limits.mjs';
import { startEcho, startPlane } from './planes.js';

function dataPlaneThreads(): number {
  const names = readdirSync('/proc/self/task').map((task) => {
    try {
      return readFileSync(`/proc/self/task/${task}/comm`, 'utf8').trim();
    } catch {
      return ''; // it has ended
    }
  });
  return names.filter((name) => name === 'rdmc-dataplane').length;
}

describe('the worker', () => {
  it('is a thread with a name in the kernel, one of each data plane', async () => {
    // Those of earlier tests in this process end soon.
    await until(() => dataPlaneThreads() === 0);
    await startEcho();
    expect(dataPlaneThreads()).toBe(1);
    await startEcho();
    expect(dataPlaneThreads()).toBe(2);
  });

  it('does not let V8 keep a large young generation', async () => {
    const plane = await startPlane([
      { name: 'limits', module: new URL('./fixtures/limits.mjs', import.meta.url) },
    ]);
    const limits = await plane.connect('limits', limitRecords, {}).limits();
    expect(limits).toMatchObject({ maxYoungGenerationSizeMb: 3 });
  });
});
