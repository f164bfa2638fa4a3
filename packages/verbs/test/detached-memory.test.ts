import { MessageChannel } from 'node:worker_threads';
import { describe, expect, it, onTestFinished } from 'vitest';
import { side } from './support/pair.js';

/** Whether the memory can be taken away from its owner; Node.js 20 clones what is marked, later lines throw. */
function takesAway(buffer: ArrayBufferLike): boolean {
  const { port1, port2 } = new MessageChannel();
  onTestFinished(() => {
    port1.close();
    port2.close();
  });
  const before = buffer.byteLength;
  for (const take of [
    () => structuredClone(buffer, { transfer: [buffer as ArrayBuffer] }),
    () => port1.postMessage(buffer, [buffer as ArrayBuffer]),
  ]) {
    try {
      take();
    } catch {
      // Refused.
    }
  }
  return buffer.byteLength !== before;
}

describe('memory that the addon has an address of', () => {
  it('is not taken from under a completion queue', async () => {
    const { device, queue } = await side({ device: 'soft' });
    onTestFinished(() => device.close());
    expect(takesAway(queue.words.buffer)).toBe(false);
    expect((queue.words.buffer as { transfer?: unknown }).transfer).toBeUndefined();
  });

  it('is not taken from under a registered region', async () => {
    const { device, domain } = await side({ device: 'soft' });
    onTestFinished(() => device.close());
    const view = new Uint8Array(4096);
    expect(takesAway(view.slice().buffer)).toBe(true);
    domain.register(view);
    expect(takesAway(view.buffer)).toBe(false);
  });
});
