import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type Device, openDevice } from '../src/index.js';
import { native } from '../src/native.js';
import { fakeLibrary, useFake } from './support/fake-library.js';
import { until } from './support/pair.js';

/** So long that a wait does not end by it before the test has closed what it waits for. */
const LIMIT_MS = 30_000;

interface Handles {
  readonly queue: number;
  readonly channel: number;
  /** Its folder in /proc. */
  readonly thread: string;
}

const sleeps = ({ thread }: Handles): true | undefined =>
  / S /.test(readFileSync(`/proc/${thread}/stat`, 'utf8')) || undefined;

/** What another thread may close. */
const CLOSES: Record<string, (device: Device, handles: Handles) => void | Promise<void>> = {
  device: (device) => device.close(),
  channel: ({ handle }, { queue, channel }) => {
    native().completionQueueDestroy(handle, queue);
    native().channelDestroy(handle, channel);
  },
};

async function isWoken(name: string, close: keyof typeof CLOSES): Promise<unknown> {
  const device = await openDevice({ device: name });
  onTestFinished(() => device.close());
  const worker = new Worker(new URL('fixtures/waiting-worker.mjs', import.meta.url), {
    workerData: { handle: device.handle, limitMs: LIMIT_MS },
  });
  onTestFinished(async () => void (await worker.terminate()));
  const [handles] = await once(worker, 'message');
  await until('the worker to wait', () => sleeps(handles));
  await CLOSES[close]!(device, handles);
  const [end] = await once(worker, 'message');
  return end;
}

describe('a thread that is blocked in a wait', () => {
  it.each(Object.keys(CLOSES))('wakes when another thread closes the %s', async (close) => {
    expect(await isWoken('soft', close)).toEqual({ count: 0, wasWoken: true });
  });

  it.skipIf(fakeLibrary.missing).each(Object.keys(CLOSES))(
    `wakes when another thread closes the %s of libibverbs ${fakeLibrary.missing}`,
    async (close) => {
      onTestFinished(useFake({ DEVICES: 'fake0' }));
      expect(await isWoken('fake0', close)).toEqual({ count: 0, wasWoken: true });
    },
  );
});

describe('the time limit of a wait', () => {
  it.each([Number.POSITIVE_INFINITY, Number.NaN, 0.5, -2, 2 ** 31, '1'])('is not %s', async (limit) => {
    const device = await openDevice({ device: 'soft' });
    onTestFinished(() => device.close());
    const queue = device.createCompletionQueue({ channel: device.createCompletionChannel() });
    for (const wait of [() => queue.wait(limit as number), () => queue.waitBatch(limit as number)])
      expect(wait).toThrow(expect.objectContaining({ code: 'ERR_RDMC_INVALID_OPTION' }));
    expect(queue.waitBatch(0)).toBe(0);
  });
});
