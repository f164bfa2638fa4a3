import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { expect, it, onTestFinished } from 'vitest';
import { openDevice } from '../src/index.js';
import { until } from './support/pair.js';

/** The exit code of a thread that closes its device while channels have listeners. */
async function exitOf(handle?: number): Promise<unknown> {
  const worker = new Worker(new URL('fixtures/listening-worker.mjs', import.meta.url), {
    workerData: { handle },
  });
  onTestFinished(async () => void (await worker.terminate()));
  const [code] = await once(worker, 'exit');
  return code;
}

it('a thread that listens ends when it has closed its device', async () => {
  expect(await exitOf()).toBe(0);
});

it('a thread that listens ends when it has closed a device of another thread, which goes on', async () => {
  const device = await openDevice({ device: 'soft' });
  onTestFinished(() => device.close());
  expect(await exitOf(device.handle)).toBe(0);
  expect(device.createCompletionQueue().pollBatch()).toBe(0);
});

it('listeners that end with their device give their descriptors back', async () => {
  const descriptors = (): number => readdirSync('/proc/self/fd').length;
  const before = descriptors();
  const device = await openDevice({ device: 'soft' });
  for (let i = 0; i < 10; i += 1) {
    device.createCompletionChannel().onEvent(() => {});
    device.onEvent(() => {});
  }
  expect(descriptors()).toBeGreaterThan(before + 20);
  await device.close();
  // Each listener has one of its own.
  await until('the descriptors to be closed', () => descriptors() < before + 10 || undefined);
});
