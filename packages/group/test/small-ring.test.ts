import { Random } from '@rdmc/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EntryReader } from '../src/small/entry-reader.js';
import { EntryWriter } from '../src/small/entry-writer.js';
import {
  ACK_RECEIVES,
  CONTROL_BYTES,
  ControlWord,
  entryUnits,
  granuleOf,
  MAX_BATCHES,
  ringUnits,
  UNIT_BYTES,
} from '../src/small/layout.js';
import { OrderMerge, Path } from '../src/small/order-merge.js';
import { RelayProgress } from '../src/small/relay-progress.js';
import { RingReceiver } from '../src/small/ring-receiver.js';
import { RingSender, SENDER_WORDS } from '../src/small/ring-sender.js';

const UNITS = 64;
const MOST = 60;
const RINGS = { first: UNITS, full: UNITS };

/** A ring whose both ends are in the same memory, as if every entry were written to the receiver at once. */
function joined(mostBytes = MOST) {
  const ring = new Uint8Array(UNITS * UNIT_BYTES);
  const control = new Int32Array(CONTROL_BYTES / 4);
  const kicks = { root: 0, receiver: 0 };
  const kick = (side: keyof typeof kicks) => (): void => {
    kicks[side] += 1;
  };
  const writer = new EntryWriter(ring, control, kick('root'));
  const reader = new EntryReader(ring, control, mostBytes, kick('receiver'));
  return { ring, control, kicks, writer, reader };
}

interface Read {
  readonly number: number;
  readonly bytes: Uint8Array;
}

function readAll(reader: EntryReader, target = new Uint8Array(256)): Read[] {
  const read: Read[] = [];
  const sink = (number: number, offset: number, byteLength: number): void => {
    read.push({ number, bytes: target.slice(offset, offset + byteLength) });
  };
  while (reader.copyOut(target, 0, sink) > 0);
  return read;
}

describe('a ring of entries', () => {
  it('has the drawn layout, byte by byte, and wraps', () => {
    const { ring, writer, reader } = joined();
    expect(writer.tryWrite(0x01020304, Uint8Array.of(0xaa, 0xbb))).toBe(true);
    expect(Buffer.from(ring.subarray(0, 16)).toString('hex')).toBe('0403020102000000' + 'aabb000000000000');
    writer.publish();
    readAll(reader);
    // The next entry but one goes around the end: 2 + 8 · 7 units are used, and 6 are left.
    for (let i = 0; i < 8; i += 1) writer.tryWrite(i, new Uint8Array(48));
    writer.publish();
    readAll(reader);
    writer.tryWrite(
      9,
      Uint8Array.from({ length: 50 }, (_, index) => index),
    );
    expect([...ring.subarray(0, 12)]).toEqual([40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 0, 0]);
    writer.publish();
    expect([...readAll(reader)[0]!.bytes]).toEqual(Array.from({ length: 50 }, (_, index) => index));
  });

  it('is given to the worker in eighths: neither entry by entry, nor when it is full', () => {
    const { control, writer } = joined();
    const part = UNITS / 8;
    for (let number = 1; number < part; number += 1) writer.tryWrite(number, new Uint8Array());
    expect(control[ControlWord.HEAD]).toBe(0);
    writer.tryWrite(part, new Uint8Array());
    expect(control[ControlWord.HEAD]).toBe(part);
    writer.tryWrite(part + 1, new Uint8Array(MOST));
    expect(control[ControlWord.HEAD]).toBe(part + entryUnits(MOST));
  });

  it('gives every message once, in order and complete, whatever the sizes and the turns', () => {
    const steps = fc.array(fc.record({ write: fc.boolean(), size: fc.integer({ min: 0, max: MOST }) }), {
      maxLength: 400,
    });
    fc.assert(
      fc.property(steps, fc.integer({ min: 72, max: 600 }), fc.nat(), (turns, targetBytes, seed) => {
        const { writer, reader } = joined();
        const random = new Random(seed);
        const target = new Uint8Array(targetBytes & ~7);
        const sent: Uint8Array[] = [];
        const received: Read[] = [];
        for (const { write, size } of turns) {
          const bytes = random.bytes(size);
          if (!write) {
            writer.publish();
            received.push(...readAll(reader, target));
          } else if (writer.tryWrite(sent.length, bytes)) sent.push(bytes);
        }
        writer.publish();
        received.push(...readAll(reader, target));
        expect(received.map(({ number }) => number)).toEqual(sent.map((_, index) => index));
        expect(received.map(({ bytes }) => [...bytes])).toEqual(sent.map((bytes) => [...bytes]));
      }),
      { numRuns: 60 },
    );
  });

  it('goes on in a full ring from any position on, and gives every message once and in order', () => {
    const sizes = fc.array(fc.integer({ min: 0, max: MOST }), { minLength: 1, maxLength: 60 });
    fc.assert(
      fc.property(sizes, fc.nat(60), fc.nat(60), fc.nat(), (lengths, growsAt, offersAt, seed) => {
        const { writer, reader, control } = joined();
        const random = new Random(seed);
        const full = new Uint8Array(8 * UNITS * UNIT_BYTES);
        let asked = 0;
        writer.onFull = () => {
          asked += 1;
        };
        const received: Read[] = [];
        for (const [number, length] of lengths.entries()) {
          if (number === Math.min(offersAt, growsAt)) reader.offer(full);
          if (number === growsAt) expect(writer.grow(full)).toBe(control[ControlWord.HEAD]! >>> 0);
          const bytes = new Uint8Array(length).fill(number);
          while (!writer.tryWrite(number, bytes)) {
            expect(asked).toBeGreaterThan(0);
            received.push(...readAll(reader));
          }
          if (random.below(3) > 0) continue;
          writer.publish();
          if (random.below(2) === 0) received.push(...readAll(reader));
        }
        writer.publish();
        received.push(...readAll(reader));
        expect(received.map(({ number, bytes }) => [number, ...bytes])).toEqual(
          lengths.map((length, number) => [number, ...new Uint8Array(length).fill(number)]),
        );
      }),
      { numRuns: 100 },
    );
  });

  it('has the room of the full ring, and reads the first one to its end', () => {
    const { writer, reader, control } = joined();
    const full = new Uint8Array(4 * UNITS * UNIT_BYTES);
    while (writer.tryWrite(0, new Uint8Array(8)));
    reader.offer(full);
    expect(writer.grow(full)).toBe(UNITS);
    let written = 0;
    while (writer.tryWrite(1, new Uint8Array(8))) written += 1;
    expect(written).toBe((3 * UNITS) / 2);
    expect([control[ControlWord.GROWN_AT], control[ControlWord.GROWN_MESSAGES]]).toEqual([UNITS, UNITS / 2]);
    expect(readAll(reader, new Uint8Array(4096)).map(({ number }) => number)).toEqual([
      ...new Array<number>(UNITS / 2).fill(0),
      ...new Array<number>(written).fill(1),
    ]);
  });

  it('refuses entries in a full ring that was not offered, and reads the first one to its end', () => {
    const { writer, reader, control } = joined();
    writer.tryWrite(0, new Uint8Array(8));
    writer.grow(new Uint8Array(4 * UNITS * UNIT_BYTES));
    expect(readAll(reader)).toHaveLength(1);
    // An invalid position of a root that could not know the address: there is only the first ring here.
    control[ControlWord.HEAD]! += 1;
    expect(() => readAll(reader)).toThrow(expect.objectContaining({ name: 'EntryViolation' }));
  });

  it('holds the writer up when it is full, until entries are copied out', () => {
    const { writer, reader, control } = joined();
    let written = 0;
    while (writer.tryWrite(written, new Uint8Array(8))) written += 1;
    expect(written).toBe(UNITS / 2);
    // The worker has all of them: nothing else makes room.
    expect(control[ControlWord.HEAD]).toBe(UNITS);
    const target = new Uint8Array(16);
    expect(reader.copyOut(target, 0, () => {})).toBe(16);
    expect(writer.tryWrite(written, new Uint8Array(8))).toBe(true);
    expect(writer.tryWrite(written, new Uint8Array(0))).toBe(false);
  });

  it('notifies the worker once until it looks', () => {
    const { writer, control, kicks } = joined();
    for (let i = 0; i < 3; i += 1) {
      writer.tryWrite(i, new Uint8Array(1));
      writer.publish();
    }
    writer.publish();
    expect(kicks.root).toBe(1);
    control[ControlWord.KICKED] = 0;
    writer.tryWrite(3, new Uint8Array(1));
    writer.publish();
    expect(kicks.root).toBe(2);
    expect([control[ControlWord.MESSAGES], control[ControlWord.BYTES], control[ControlWord.HEAD]]).toEqual([
      4, 4, 8,
    ]);
  });

  it.each([
    ['longer than agreed', MOST + 1],
    ['longer than what has arrived', MOST - 1],
    ['of 2^32 − 1 bytes', 0xffff_ffff],
  ])('refuses an entry %s', (_name, length) => {
    const { ring, control, reader } = joined();
    new Uint32Array(ring.buffer)[1] = length;
    control[ControlWord.HEAD] = 2;
    const target = new Uint8Array(256);
    expect(() => reader.copyOut(target, 0, () => {})).toThrow(
      expect.objectContaining({ name: 'EntryViolation' }),
    );
  });

  it('takes the length from the copy: the root may change the ring meanwhile', () => {
    const { ring, writer, reader } = joined();
    writer.tryWrite(0, Uint8Array.of(1, 2, 3));
    writer.tryWrite(1, Uint8Array.of(4));
    writer.publish();
    const read: number[] = [];
    const target = new Uint8Array(256);
    reader.copyOut(target, 0, (number, offset, byteLength) => {
      new Uint32Array(ring.buffer)[5] = 0xffff_ffff;
      read.push(number, byteLength, target[offset]!);
    });
    expect(read).toEqual([0, 3, 1, 1, 1, 4]);
  });
});

describe('the counters of a ring', () => {
  it('never let the root overrun the ring or the receives, and never stop both sides, also when it grows', () => {
    const rings = { first: UNITS, full: 4 * UNITS };
    const turns = fc.array(fc.constantFrom('write', 'post', 'arrive', 'copy', 'ack', 'grow'), {
      maxLength: 600,
    });
    const start = fc.constantFrom(0, 0xffff_ffe0, 0x7fff_fff0);
    fc.assert(
      fc.property(turns, start, fc.nat(), (steps, origin, seed) => {
        const random = new Random(seed);
        const state = new Uint32Array(SENDER_WORDS).fill(0).fill(origin, 0, 2);
        const sender = new RingSender(rings, MAX_BATCHES, state);
        const receiver = new RingReceiver(rings, MAX_BATCHES, Uint32Array.of(origin, 0, 0, origin, 0));
        receiver.offer();
        let grownAt: number | undefined;
        const roomOf = (): number =>
          (grownAt === undefined ? rings.first : rings.full) - ((head - sender.tail) >>> 0);
        let head: number = origin;
        let tail: number = origin;
        let most = 0;
        const notices: number[] = [];
        const acks: number[] = [];
        const ackIfDue = (): void => {
          if (receiver.isDue(tail)) acks.push(receiver.acknowledge(tail));
          most = Math.max(most, acks.length);
        };
        const moves: Record<string, () => void> = {
          write: () => {
            head = (head + random.below(roomOf() + 1)) >>> 0;
          },
          grow: () => {
            grownAt ??= head;
          },
          post: () => {
            const units = sender.next(head, grownAt);
            if (units > 0) sender.posted(units);
            else if (grownAt !== undefined && sender.mayGrow(grownAt)) sender.grew();
            else return;
            // The device here may be done long before the receiver takes the batch.
            sender.completed();
            notices.push(sender.sent);
          },
          arrive: () => {
            if (notices.length === 0) return;
            receiver.arrived(notices.shift()!);
            ackIfDue();
          },
          copy: () => {
            tail = (tail + random.below(((receiver.head - tail) >>> 0) + 1)) >>> 0;
            ackIfDue();
          },
          ack: () => {
            if (acks.length > 0) sender.acknowledged(acks.shift()!);
          },
        };
        for (const step of steps) {
          moves[step]!();
          expect(notices.length).toBeLessThanOrEqual(MAX_BATCHES);
        }
        expect(most).toBeLessThanOrEqual(ACK_RECEIVES);
        if (grownAt === undefined) expect(most).toBeLessThanOrEqual(6);
        // From any state everything gets through: the counters do not stop both sides.
        const end = (head + 5 * UNITS) >>> 0;
        for (let i = 0; i < 200 && tail !== end; i += 1) {
          head = (head + Math.min(roomOf(), (end - head) >>> 0)) >>> 0;
          for (const step of ['post', 'arrive'] as const) moves[step]!();
          tail = receiver.head;
          ackIfDue();
          moves.ack!();
        }
        expect(tail).toBe(end);
      }),
      { numRuns: 200 },
    );
  });

  it('detect a root that grows without an offer, and one that overruns a ring after the other', () => {
    const receiver = new RingReceiver({ first: UNITS, full: 4 * UNITS });
    receiver.arrived(10);
    expect(() => receiver.arrived(10)).toThrow(expect.objectContaining({ name: 'CounterViolation' }));
    receiver.offer();
    expect(() => receiver.arrived(UNITS + 1)).toThrow('into a ring');
    receiver.arrived(10);
    expect(() => receiver.arrived(10)).toThrow('into a ring');
    receiver.arrived(4 * UNITS);
    expect(() => receiver.arrived(4 * UNITS + 1)).toThrow('into a ring');
  });

  it('detect a root that overruns the ring, and one that goes back', () => {
    const receiver = new RingReceiver(RINGS);
    receiver.arrived(UNITS);
    expect(() => receiver.arrived(UNITS + 1)).toThrow(expect.objectContaining({ name: 'CounterViolation' }));
    receiver.acknowledge(10);
    receiver.arrived(UNITS + 10);
    expect(() => receiver.arrived(UNITS + 10)).toThrow('into a ring');
    expect(() => receiver.arrived(5)).toThrow('into a ring');
    expect(() => receiver.arrived(UNITS + 11)).toThrow('into a ring');
  });

  it('detect a receiver that acknowledges more than it got', () => {
    const wrong = (batches: number, tail: number): (() => void) => {
      const sender = new RingSender(RINGS);
      sender.posted(10);
      sender.acknowledged((1 << 16) | 4);
      return () => sender.acknowledged(((batches << 16) | tail) >>> 0);
    };
    expect(wrong(1, 10)).not.toThrow();
    for (const [batches, tail] of [
      [2, 4],
      [1, 11],
      [1, 3],
      [0, 4],
    ] as const) {
      expect(wrong(batches, tail)).toThrow(expect.objectContaining({ name: 'CounterViolation' }));
    }
  });

  it('stop a root whose batches are not acknowledged, also if its device is done with them', () => {
    const sender = new RingSender(RINGS);
    for (let batch = 1; batch <= MAX_BATCHES; batch += 1) {
      expect(sender.next(batch)).toBe(1);
      sender.posted(1);
      sender.completed();
    }
    expect(sender.next(MAX_BATCHES + 1)).toBe(0);
    sender.acknowledged(4 << 16);
    expect(sender.next(MAX_BATCHES + 1)).toBe(1);
  });

  it('fit the ring to the largest message', () => {
    for (const most of [1, 8192, 65_536]) {
      const { first, full } = ringUnits({ smallMessageBytes: most, members: 4 });
      expect([Math.log2(first) % 1, Math.log2(full) % 1]).toEqual([0, 0]);
      expect(full).toBeGreaterThanOrEqual(16 * entryUnits(most));
      // Acks may be late by half of it, and by less than a granule more.
      expect(first).toBeGreaterThanOrEqual(2 * entryUnits(most) + granuleOf(full));
      const tree = ringUnits({ smallMessageBytes: most, members: 17 });
      expect(tree.first).toBeGreaterThanOrEqual(4 * (entryUnits(most) + granuleOf(tree.full)));
      expect(first).toBeLessThan(full);
    }
    expect([entryUnits(0), entryUnits(1), entryUnits(8), entryUnits(9)]).toEqual([1, 2, 2, 3]);
  });

  it('are longer in groups of more than 4 members, except where each sender has one', () => {
    const bytes = (members: number, hasManySenders?: boolean): number =>
      ringUnits({ smallMessageBytes: 8192, members, hasManySenders: hasManySenders ?? false }).full *
      UNIT_BYTES;
    expect([bytes(2), bytes(4), bytes(16, true)]).toEqual(Array(3).fill(512 * 1024));
    expect([bytes(5), bytes(16), bytes(128)]).toEqual(Array(3).fill(2048 * 1024));
  });
});

/** A message with its number modulo 2^32. */
class Message {
  constructor(public number: number) {}

  numberAs(position: number): void {
    this.number = position;
  }
}

describe('OrderMerge', () => {
  it('gives one order without a gap, whatever arrives first', () => {
    fc.assert(
      fc.property(
        fc.array(fc.boolean(), { maxLength: 60 }),
        fc.nat(),
        fc.constantFrom(0, 0xffff_fff0),
        (kinds, seed, first) => {
          const random = new Random(seed);
          const merge = new OrderMerge<Message>(first);
          const paths: [Message[], Message[]] = [[], []];
          for (const [index, isSmall] of kinds.entries()) {
            paths[isSmall ? 0 : 1]!.push(new Message((first + index) >>> 0));
          }
          const taken: number[] = [];
          while (paths[0]!.length + paths[1]!.length > 0) {
            const path = paths[0]!.length > 0 && (paths[1]!.length === 0 || random.below(2) === 0) ? 0 : 1;
            merge.push(path, paths[path]!.shift()!);
            if (random.below(2) === 0) continue;
            for (let m = merge.take(); m; m = merge.take()) taken.push(m.number);
          }
          for (let m = merge.take(); m; m = merge.take()) taken.push(m.number);
          expect(taken).toEqual(kinds.map((_, index) => first + index));
          expect(merge.waiting(Path.SMALL) + merge.waiting(Path.BLOCKS)).toBe(0);
        },
      ),
    );
  });

  it('detects numbers that go back, and a number on both paths', () => {
    const merge = new OrderMerge<Message>();
    merge.push(Path.SMALL, new Message(2));
    expect(() => merge.push(Path.SMALL, new Message(2))).toThrow('after a later one');
    expect(merge.take()).toBeUndefined();
    const both = new OrderMerge<Message>();
    both.push(Path.SMALL, new Message(0));
    both.push(Path.BLOCKS, new Message(0));
    expect(both.take()?.number).toBe(0);
    expect(() => both.take()).toThrow('both paths');
  });

  it('gives positions beyond 2^32', () => {
    const merge = new OrderMerge<Message>(0xffff_ffff);
    merge.push(Path.SMALL, new Message(0xffff_ffff));
    merge.push(Path.BLOCKS, new Message(0));
    expect([merge.take(), merge.take()].map((message) => message?.number)).toEqual([2 ** 32 - 1, 2 ** 32]);
  });
});

describe('the progress of a relay', () => {
  it('is done once its children have what has arrived, and asks for an event before', () => {
    const control = new Int32Array(CONTROL_BYTES / 4);
    const progress = new RelayProgress(control);
    expect(progress.isDone).toBe(true);
    expect(control[ControlWord.RELAYING]).toBe(0);
    control[ControlWord.HEAD] = 7;
    expect(progress.isDone).toBe(false);
    expect(control[ControlWord.RELAYING]).toBe(1);
    control[ControlWord.RELAYED] = 7;
    expect(progress.isDone).toBe(true);
  });
});
