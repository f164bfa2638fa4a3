import { rejection } from '@rdmc/testing';
import type { MemoryRegion } from '@rdmc/verbs';
import { describe, expect, it } from 'vitest';
import { SENDS_IN_WORKER } from '../src/constants.js';
import { SendQueue } from '../src/send-queue.js';
import { EntryWriter } from '../src/small/entry-writer.js';
import { CONTROL_BYTES, ControlWord } from '../src/small/layout.js';

const RING_BYTES = 512;
const region = { hold: () => ({ [Symbol.dispose]: () => {} }) } as unknown as MemoryRegion;
const range = { region, offset: 0, byteLength: 1 };

function testQueue() {
  const posted: number[] = [];
  const queue = new SendQueue((number) => posted.push(number));
  const control = new Int32Array(CONTROL_BYTES / 4);
  queue.useRing(new EntryWriter(new Uint8Array(RING_BYTES), control, () => {}));
  return { queue, posted, control };
}

describe('the queue of a root', () => {
  it('starts nothing once it is stopped: not a small message whose turn an abort brings', async () => {
    const { queue, posted, control } = testQueue();
    const sends = Array.from({ length: SENDS_IN_WORKER }, () => queue.enqueue(range, undefined));
    const controller = new AbortController();
    const withdrawn = queue.enqueue(range, controller.signal);
    const small = queue.enqueueSmall([Uint8Array.of(1)], undefined);
    queue.stop();
    controller.abort();
    expect((await rejection(withdrawn)).message).toContain('aborted');
    expect(control[ControlWord.HEAD]).toBe(0);
    const failure = new Error('the group failed');
    queue.fail(failure);
    for (const each of [...sends, small]) expect(await rejection(each)).toBe(failure);
    expect(posted).toHaveLength(SENDS_IN_WORKER);
    expect(queue.count).toBe(SENDS_IN_WORKER);
  });

  it('gives the worker the messages of an array in front of one that was detached', async () => {
    const { queue, control } = testQueue();
    const messages = Array.from({ length: 40 }, () => new Uint8Array(8));
    const sending = rejection(queue.enqueueSmall(messages, undefined));
    // The ring has room for 32 of them.
    expect(control[ControlWord.HEAD]).toBe(RING_BYTES / 8);
    const { buffer } = messages[36]!;
    structuredClone(buffer, { transfer: [buffer] });
    control[ControlWord.TAIL] = RING_BYTES / 8;
    queue.roomMade();
    expect(await sending).toMatchObject({ code: 'ERR_RDMC_INVALID_MESSAGE' });
    expect(queue.count).toBe(36);
    expect(control[ControlWord.HEAD]).toBe(2 * 36);
    expect(queue.idle).toBe(true);
  });
});
