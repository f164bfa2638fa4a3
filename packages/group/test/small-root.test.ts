import type { ProtocolContext } from '@rdmc/dataplane';
import { openDevice } from '@rdmc/verbs';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { GroupRecords } from '../src/records.js';
import { EntryWriter } from '../src/small/entry-writer.js';
import { ControlWord } from '../src/small/layout.js';
import { SmallMemory } from '../src/small/small-memory.js';
import { type Growth, RingOutput } from '../src/worker/ring-output.js';
import { SmallRoot } from '../src/worker/small-root.js';
import type { SmallHost } from '../src/worker/small-side.js';

afterEach(() => vi.restoreAllMocks());

/** Runs `action` in front of the next load of the word, as if the application's thread ran then. */
function beforeLoadOf(word: number, action: () => void): void {
  const atomics: { load(words: Int32Array, at: number): number } = Atomics;
  const { load } = atomics;
  const spy = vi.spyOn(atomics, 'load').mockImplementation((words, at) => {
    if (at === word) {
      spy.mockRestore();
      action();
    }
    return load(words, at);
  });
}

describe('the worker of a sender', () => {
  it.each([
    ['MESSAGES', ControlWord.MESSAGES],
    ['BYTES', ControlWord.BYTES],
    ['HEAD', ControlWord.HEAD],
    ['GROWN', ControlWord.GROWN],
  ])('counts no less than the growth has: grown in front of %s', async (_name, word) => {
    const device = await openDevice({ device: 'soft' });
    onTestFinished(() => device.close());
    const part = { isRoot: true, links: 0, smallMessageBytes: 64, members: 2 };
    const memory = await SmallMemory.allocate(device.allocateProtectionDomain(), part);
    const writer = new EntryWriter(memory.bytes, memory.control, () => {});
    const context = { device } as unknown as ProtocolContext<GroupRecords>;
    const root = new SmallRoot(context, memory.setup, {} as SmallHost, new Float64Array(16));
    const write = vi.spyOn(RingOutput.prototype, 'write');
    const full = (await memory.grow()).view();
    writer.tryWrite(0, new Uint8Array(3));
    writer.publish();
    beforeLoadOf(word, () => {
      writer.tryWrite(1, new Uint8Array(4));
      writer.grow(full);
      writer.tryWrite(2, new Uint8Array(5));
      writer.publish();
    });
    root.advance();
    const growth: Growth = { at: 4, messages: 2, bytes: 7 };
    expect(write).toHaveBeenCalledExactlyOnceWith(6, 3, 12, growth);
  });
});
