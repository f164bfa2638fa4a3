import { readdirSync, readFileSync } from 'node:fs';
import { until } from '@rdmc/testing';
import { describe, expect, it } from 'vitest';
import { startEcho } from './planes.js';

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
});
