import type { MemoryRegion } from '@rdmc/verbs';
import { describe, expect, it } from 'vitest';
import type { CheckedGroupOptions } from '../src/checked-group-options.js';
import { UNREAD_MESSAGES } from '../src/constants.js';
import type { GroupEnvironment } from '../src/environment.js';
import { Reception } from '../src/reception.js';
import { EntryWriter } from '../src/small/entry-writer.js';
import { CONTROL_BYTES, ControlWord } from '../src/small/layout.js';
import type { SmallMemory } from '../src/small/small-memory.js';

const RING_BYTES = 4096;

/** A reception over plain memory. What the root writes into its ring is here at once. */
function testReception(options: Partial<CheckedGroupOptions> = {}) {
  const device = { handle: 1 };
  const open = new Set<object>();
  const allocate = async (byteLength: number): Promise<MemoryRegion> => {
    const region = {
      device,
      address: 0,
      hostAccess: true,
      byteLength,
      view: (offset = 0, length = byteLength) => new Uint8Array(length).fill(offset),
      hold: () => ({ [Symbol.dispose]: () => {} }),
      close: async () => void open.delete(region),
    };
    const memory = new Uint8Array(byteLength);
    region.view = (offset = 0, length = byteLength - offset) => memory.subarray(offset, offset + length);
    open.add(region);
    return region as unknown as MemoryRegion;
  };
  const placed: number[] = [];
  const violations: string[] = [];
  const commands = { place: (_group: number, message: number) => placed.push(message), kickSmall: () => {} };
  const environment = { device, allocate, allocated: () => true, link: { commands } };
  const reception = new Reception(
    environment as unknown as GroupEnvironment,
    { smallMessageBytes: 64, members: [7, 8] as readonly number[], ...options } as CheckedGroupOptions,
    0,
    {
      failed: (reason) => violations.push(reason),
      violated: (sender, reason) => violations.push(`${sender} ${reason}`),
      arrived: () => {},
      complete: () => {},
      ordered: () => {},
      skip: () => {},
      numbered: () => 0,
    },
  );
  const ring = new Uint8Array(RING_BYTES);
  const control = new Int32Array(CONTROL_BYTES / 4);
  reception.useRing({ bytes: ring, control } as unknown as SmallMemory);
  const writer = new EntryWriter(ring, control, () => {});
  const small = (number: number): void => {
    expect(writer.tryWrite(number, Uint8Array.of(number))).toBe(true);
    writer.publish();
  };
  /** As the worker does: it tells of small messages only when that was asked for. */
  const arrive = (number: number): void => {
    small(number);
    if (Atomics.exchange(control, ControlWord.WAITING, 0) === 1) reception.look();
  };
  return { reception, open, placed, violations, small, arrive, ring, control };
}

/** Lets the promises that are settled run. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Reads what can be read, and releases it; then the end, or its error. */
async function readAll({ inbox }: Reception): Promise<number[]> {
  const numbers: number[] = [];
  try {
    for await (const message of inbox) {
      numbers.push(message.number);
      message.release();
    }
  } catch (error) {
    expect(error).toMatchObject({ message: 'the group failed' });
  }
  return numbers;
}

async function end(reception: Reception): Promise<number> {
  await reception.finish();
  const { delivered } = reception;
  const error = new Error('the group failed');
  reception.dispose(error);
  reception.inbox.end(error);
  return delivered;
}

describe('the reception of a member', () => {
  it('holds long messages up at the limit of unread ones, also behind a small message in the ring', async () => {
    const { reception, placed, small } = testReception();
    small(0);
    for (let number = 1; number <= UNREAD_MESSAGES + 4; number += 1) {
      reception.begin(number, 10);
      await settled();
      if (placed.includes(number)) reception.finished(number);
    }
    expect(placed).toHaveLength(UNREAD_MESSAGES);
    // The reader gets the small message, and those behind it.
    const messages = reception.inbox[Symbol.asyncIterator]();
    const reading: number[] = [];
    const first = messages.next();
    await settled();
    reading.push((await first).value!.number);
    for (let number = 1; number <= UNREAD_MESSAGES; number += 1) {
      reading.push((await messages.next()).value!.number);
    }
    expect(reading).toEqual(Array.from({ length: UNREAD_MESSAGES + 1 }, (_, number) => number));
    await settled();
    expect(placed).toHaveLength(UNREAD_MESSAGES + 4);
    await end(reception);
  });

  it('with stable delivery, counts what comes behind a long message, while nobody reads', async () => {
    const { reception, arrive } = testReception({ delivery: 'stable' });
    reception.look();
    reception.begin(0, 10);
    arrive(1);
    expect(reception.ordered).toEqual([0]);
    await settled();
    reception.finished(0);
    for (const number of [2, 3]) arrive(number);
    expect(reception.ordered).toEqual([4]);
    await end(reception);
  });

  it.each([
    ['an entry that is too long', 64 + 1, 2],
    ['a number that came already', 0, 1],
  ])('delivers what came before %s, and frees its memory', async (_name, wrong, word) => {
    const { reception, open, violations, small, ring, control } = testReception();
    for (let number = 0; number < 6; number += 1) small(number);
    // Of the fourth entry: word 1 is its number, word 2 its length.
    new Uint32Array(ring.buffer)[3 * 4 + word - 1] = wrong;
    const reading = readAll(reception);
    await settled();
    expect(violations).toHaveLength(1);
    expect(control[ControlWord.HEAD]).toBe(12);
    expect(await end(reception)).toBe(3);
    expect(await reading).toEqual([0, 1, 2]);
    await settled();
    expect(open.size).toBe(0);
  });

  it('delivers what is in the ring when the group fails, and nothing afterwards', async () => {
    const { reception, small } = testReception();
    for (let number = 0; number < 3; number += 1) small(number);
    // 3 is a long message that does not come.
    small(4);
    await reception.finish();
    expect(reception.delivered).toBe(3);
    small(5);
    const reading = readAll(reception);
    reception.closed();
    await settled();
    expect(await end(reception)).toBe(3);
    expect(await reading).toEqual([0, 1, 2]);
  });
});
