import type { MemoryRegion } from '@rdmc/verbs';
import { describe, expect, it } from 'vitest';
import type { CheckedGroupOptions } from '../src/checked-group-options.js';
import type { GroupEnvironment } from '../src/environment.js';
import { ManyReception } from '../src/many/many-reception.js';
import type { RingsMemory } from '../src/many/rings-memory.js';
import { EntryWriter } from '../src/small/entry-writer.js';
import { CONTROL_BYTES } from '../src/small/layout.js';
import type { SmallMemory } from '../src/small/small-memory.js';

const RING_BYTES = 4096;
const SENDERS = [7, 8];

/** Member 9, which only receives, over plain memory: what the senders write into its rings is here at once. */
function testReception(order: 'sender' | 'total') {
  const allocate = async (byteLength: number): Promise<MemoryRegion> => {
    const memory = new Uint8Array(byteLength);
    const view = (offset = 0, length = byteLength - offset) => memory.subarray(offset, offset + length);
    return { byteLength, view, close: async () => {} } as unknown as MemoryRegion;
  };
  const environment = { memberId: 9, allocate, link: { commands: { kickSmall: () => {} } } };
  const options = { members: [7, 8, 9], senders: SENDERS, order, delivery: 'stable', smallMessageBytes: 64 };
  const violations: string[] = [];
  const reception = new ManyReception(
    environment as unknown as GroupEnvironment,
    options as unknown as CheckedGroupOptions,
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
  const writers = new Map<number, EntryWriter>();
  const from = new Map<number, SmallMemory>();
  for (const sender of SENDERS) {
    const [bytes, control] = [new Uint8Array(RING_BYTES), new Int32Array(CONTROL_BYTES / 4)];
    writers.set(sender, new EntryWriter(bytes, control, () => {}));
    from.set(sender, { bytes, control } as unknown as SmallMemory);
  }
  reception.useRings({ own: undefined, self: undefined, from } as unknown as RingsMemory);
  /** Writes messages of that sender from number `first` on, and reads them. */
  const arrive = async (sender: number, first: number, count: number): Promise<void> => {
    const writer = writers.get(sender)!;
    for (let number = first; number < first + count; number += 1) writer.tryWrite(number, Uint8Array.of(1));
    writer.publish();
    reception.look();
    // The first memory for messages is allocated.
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { reception, violations, arrive };
}

describe('stable delivery of many senders', () => {
  it.each(['before', 'after'])(
    'keeps back what a sender sends %s it says that there is less',
    async (when) => {
      const { reception, arrive } = testReception('sender');
      if (when === 'before') await arrive(7, 0, 3);
      reception.closed(7, 1);
      if (when === 'after') await arrive(7, 0, 3);
      // The others have only the message that the sender said.
      reception.stable([1, 0]);
      expect([reception.delivered, reception.complete]).toEqual([1, [3, 0]]);
      // The survivors agree on what they have, whatever the sender said.
      reception.freeze();
      reception.trim([2, 0]);
      expect([reception.delivered, reception.hasDelivered([2, 0])]).toEqual([2, true]);
      reception.dispose();
    },
  );

  it.each(['sender', 'total'] as const)(
    'has not delivered what was agreed on if it has delivered more, in the order %s',
    async (order) => {
      const { reception, arrive } = testReception(order);
      await arrive(7, 0, 2);
      reception.stable([2, 1]);
      expect(reception.delivered).toBe(2);
      reception.freeze();
      reception.trim([1, 0]);
      expect(reception.hasDelivered([1, 0])).toBe(false);
      expect(reception.hasDelivered([2, 0])).toBe(true);
      reception.dispose();
    },
  );

  it('after a failure, delivers what was agreed on, and nothing because a sender closes', async () => {
    const { reception, violations, arrive } = testReception('total');
    await arrive(8, 0, 1);
    reception.stable([0, 1]);
    reception.freeze();
    reception.closed(7, 0);
    expect(reception.delivered).toBe(0);
    reception.trim([0, 1]);
    expect([reception.delivered, violations]).toEqual([1, []]);
    reception.dispose();
  });
});
