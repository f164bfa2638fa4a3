import { thrown } from '@rdmc/testing';
import { describe, expect, it } from 'vitest';
import { BoardWord, saysEnd, writeEnd } from '../src/layout/board.js';
import { footerIndex, payloadOffset, slotStride } from '../src/layout/footer.js';
import { bitOf, validBits } from '../src/machine/bits.js';
import { refreshLimit } from '../src/machine/refresh-rule.js';
import { RequesterMachine } from '../src/machine/requester-machine.js';
import { ResponderMachine, responderStateWords } from '../src/machine/responder-machine.js';

const SLOTS = 40;
const STRIDE = slotStride(64);

function responder(generation = 1, state = new Int32Array(responderStateWords(SLOTS))) {
  const pool = new Int32Array((SLOTS * STRIDE) / 4);
  const landing = new Int32Array(2);
  const released = new Int32Array(2);
  const delivered: number[] = [];
  const machine = new ResponderMachine(
    { slots: SLOTS, stride: STRIDE, slotBytes: 64, pool, landing, released },
    { delivered: (slot) => void delivered.push(slot) },
    state,
  );
  machine.restart(generation);
  const write = (slot: number, sequence: number, length = 8, remaining = 0, writer = generation): void => {
    pool.set([sequence, length, writer, remaining], footerIndex(slot, STRIDE));
    landing[slot >> 5]! ^= bitOf(slot);
  };
  return { machine, delivered, write, landing, released };
}

describe('the responder', () => {
  it('delivers by sequence, whatever the order of the bits', () => {
    const { machine, write, delivered } = responder();
    write(39, 0);
    write(3, 2);
    write(5, 1);
    write(7, 4);
    expect(machine.take()).toBe(true);
    expect(delivered).toEqual([39, 5, 3]);
    write(0, 3);
    machine.take();
    expect(delivered).toEqual([39, 5, 3, 0, 7]);
    expect(machine.take()).toBe(false);
  });

  it('has at most one outstanding READ of R', () => {
    const { machine } = responder();
    expect([machine.beginRead(), machine.beginRead()]).toEqual([true, false]);
    machine.readReturned();
    expect(machine.beginRead()).toBe(true);
    machine.restart(2);
    expect(machine.beginRead()).toBe(true);
  });

  it('continues when the sequence number wraps', () => {
    // The next sequence number is the first word of the machine's state.
    const state = new Int32Array(responderStateWords(SLOTS));
    const { machine, write, delivered } = responder(1, state);
    state[0] = 0x7fff_ffff;
    write(1, 0x7fff_ffff);
    write(2, -0x8000_0000);
    write(3, -0x7fff_ffff);
    machine.take();
    expect(delivered).toEqual([1, 2, 3]);
  });

  it.each([
    [
      'a slot beyond the pool',
      'BITMAP',
      (r: ReturnType<typeof responder>) => void r.landing.fill(1 << 20, 1),
    ],
    [
      'a slot that is still held',
      'BITMAP',
      (r: ReturnType<typeof responder>) => {
        r.write(1, 0);
        r.machine.take();
        r.write(1, 1);
      },
    ],
    ['another generation', 'GENERATION', (r: ReturnType<typeof responder>) => r.write(1, 0, 8, 0, 7)],
    ['a length beyond the slot', 'FOOTER', (r: ReturnType<typeof responder>) => r.write(1, 0, 65)],
    ['a negative length', 'FOOTER', (r: ReturnType<typeof responder>) => r.write(1, 0, -1)],
    ['a sequence from the past', 'FOOTER', (r: ReturnType<typeof responder>) => r.write(1, -1)],
    ['a sequence beyond the pool', 'FOOTER', (r: ReturnType<typeof responder>) => r.write(1, SLOTS)],
    [
      'a sequence twice',
      'FOOTER',
      (r: ReturnType<typeof responder>) => {
        r.write(1, 5);
        r.write(2, 5);
      },
    ],
    [
      'fragments that do not add up',
      'FOOTER',
      (r: ReturnType<typeof responder>) => {
        r.write(1, 0, 8, 100);
        r.write(2, 1, 8, 93);
      },
    ],
    ['a negative rest', 'FOOTER', (r: ReturnType<typeof responder>) => r.write(1, 0, 8, -5)],
  ])('stops at %s', (_name, code, damage) => {
    const made = responder();
    damage(made);
    const before = made.delivered.length;
    expect(thrown(() => made.machine.take()).code).toBe(`ERR_RDMC_HIPOWER_${code}`);
    expect(made.delivered.length - before).toBeLessThanOrEqual(1);
  });

  it('refuses immediates that are not a slot number', () => {
    for (const slot of [-2, SLOTS, 1 << 30]) {
      expect(thrown(() => responder().machine.arrived(slot)).code).toBe('ERR_RDMC_HIPOWER_BITMAP');
    }
  });

  it('looks once more after the end, and then names the missing slot', () => {
    const { machine, write } = responder();
    write(0, 0);
    machine.take();
    expect(machine.ended(2)).toBe(false);
    expect(thrown(() => machine.ended(2)).code).toBe('ERR_RDMC_HIPOWER_INCOMPLETE');
    write(1, 1);
    machine.take();
    expect(machine.ended(2)).toBe(true);
  });

  it('drops claimed slots that were not delivered when a generation begins', () => {
    const { machine, write, delivered, landing } = responder();
    write(4, 0);
    write(9, 2);
    machine.take();
    machine.restart(2);
    expect([machine.next, machine.claimedWord(0)]).toEqual([1, bitOf(4)]);
    expect(landing[0]).toBe(bitOf(4));
    expect(delivered).toEqual([4]);
  });
});

function requester(announceAt: 'posting' | 'completion' = 'completion') {
  const announced = new Int32Array(2);
  const landing = new Int32Array(2);
  const freed: number[] = [];
  const machine = new RequesterMachine(
    { slots: SLOTS, announced, landing, announceAt },
    { freed: (slot) => void freed.push(slot) },
  );
  return { machine, announced, landing, freed };
}

describe('the requester', () => {
  it('toggles at completion, or at posting if a push follows', () => {
    const pull = requester();
    pull.machine.posted(33, 0);
    expect([...pull.announced]).toEqual([0, 0]);
    pull.machine.completed(1);
    expect([...pull.announced]).toEqual([0, 2]);
    const push = requester('posting');
    push.machine.posted(33, 0);
    expect([...push.announced]).toEqual([0, 2]);
  });

  it('frees a slot when it is both completed and released, in either order', () => {
    const { machine, landing, freed } = requester('posting');
    machine.posted(1, 0);
    landing[0] = bitOf(1);
    expect([machine.beginRead(), machine.beginRead()]).toEqual([true, false]);
    machine.readReturned();
    expect(freed).toEqual([]);
    machine.completed(1);
    machine.collect();
    expect(freed).toEqual([1]);
  });

  it('stops at a release of an empty slot', () => {
    const read = requester();
    read.landing[0] = 4;
    expect(thrown(() => read.machine.readReturned()).code).toBe('ERR_RDMC_HIPOWER_BITMAP');
    for (const slot of [3, SLOTS, -1]) {
      expect(thrown(() => requester().machine.recycled(slot)).code).toBe('ERR_RDMC_HIPOWER_BITMAP');
    }
  });

  it('stops at an account of slots that were never sent', () => {
    const { machine } = requester();
    machine.posted(0, 0);
    machine.broke();
    const claimed = Int32Array.of(2, 0);
    const error = thrown(() => machine.resume(claimed, new Int32Array(2), 1));
    expect(error.code).toBe('ERR_RDMC_HIPOWER_BITMAP');
  });

  it.each([
    ['expects a slot that was never sent', 0b0011, 0b0001, 5],
    ['expects one that it has claimed', 0b0011, 0b0001, 1],
    ['expects one before those that it can still get', 0b0000, 0b0000, -1],
    ['reports a slot that it never claimed', 0b0011, 0b0001, 3],
    ['claims a slot that it has not delivered', 0b0111, 0b0001, 2],
    ['has released a slot that it has not claimed', 0b0011, 0b0101, 2],
    ['has claimed a slot beyond those used', 0b10_0011, 0b10_0001, 2],
    ['no longer reports a slot that it had released', 0b0010, 0b0000, 2],
  ])('stops at an account that %s', (_name, claimed, released, next) => {
    const { machine, freed } = requester();
    for (const slot of [0, 1, 2, 3]) machine.posted(slot, slot);
    machine.completed(3);
    machine.broke();
    const account = (): number[] =>
      machine.resume(Int32Array.of(claimed, 0), Int32Array.of(released, 0), next);
    expect(thrown(account).code).toBe('ERR_RDMC_HIPOWER_BITMAP');
    expect(freed).toEqual([]);
    expect(machine.resume(Int32Array.of(0b0011, 0), Int32Array.of(0b0001, 0), 2)).toEqual([2, 3]);
    expect(freed).toEqual([0]);
  });

  it('frees everything when its responder does not need it any longer', () => {
    const { machine, freed } = requester();
    for (const slot of [5, 39, 7]) machine.posted(slot, slot);
    machine.completed(1);
    machine.dismiss();
    expect(freed).toEqual([5, 7, 39]);
    expect(machine.hasFull).toBe(false);
  });

  it('resumes from the account: frees what was released, keeps what is held, sends the rest again in order', () => {
    const { machine, freed } = requester();
    for (const [sequence, slot] of [7, 3, 9, 1].entries()) machine.posted(slot, sequence);
    machine.completed(2);
    machine.broke();
    // 7 was consumed and released, 3 is held; 9 and 1 did not arrive.
    const claimed = Int32Array.of(bitOf(7) | bitOf(3), 0);
    const released = Int32Array.of(bitOf(7), 0);
    expect(machine.resume(claimed, released, 2)).toEqual([9, 1]);
    expect(freed).toEqual([7]);
  });
});

it('the refresh rule: fewer than the share are free; always if none is free', () => {
  const limits = [1, 2, 3, 4, 256].map((slots) => refreshLimit(slots, 0.5));
  expect(limits).toEqual([0, 0, 1, 1, 127]);
  expect([refreshLimit(8, 0), refreshLimit(8, 1), refreshLimit(1, 1)]).toEqual([0, 7, 0]);
});

it('the end on a board: a mixture of old and new words is valid only if it is true', () => {
  for (const total of [0, 1, -1, 0x7fff_ffff, -0x8000_0000, 12345]) {
    const before = new Int32Array(4);
    const after = new Int32Array(4);
    expect(saysEnd(before)).toBe(false);
    writeEnd(after, total);
    expect([saysEnd(after), after[BoardWord.TOTAL]]).toEqual([true, total]);
    for (const word of [BoardWord.TOTAL, BoardWord.COMPLEMENT]) {
      const torn = after.slice();
      torn[word] = before[word]!;
      if (saysEnd(torn)) expect(torn[BoardWord.TOTAL]).toBe(total);
    }
  }
});

it('slots are at the right offsets in pools of more than 2 GiB', () => {
  const stride = slotStride(1 << 20);
  for (const slot of [0, 2047, 2048, 3000, 4090]) {
    expect(footerIndex(slot, stride)).toBe((slot * stride + stride - 16) / 4);
    expect(payloadOffset(slot, stride, 8)).toBe(slot * stride + stride - 24);
  }
});

it('payload and footer are adjacent, and payloads are aligned', () => {
  for (const slotBytes of [8, 64, 65, 4096]) {
    const stride = slotStride(slotBytes);
    for (const length of [0, 1, 7, 8, slotBytes]) {
      const offset = payloadOffset(3, stride, length);
      expect(offset % 8).toBe(0);
      expect(offset).toBeGreaterThanOrEqual(3 * stride);
      const gap = footerIndex(3, stride) * 4 - (offset + length);
      expect(gap).toBeGreaterThanOrEqual(0);
      expect(gap).toBeLessThan(8);
    }
  }
  expect([validBits(0, 32), validBits(0, 5), validBits(1, 33)]).toEqual([-1, 31, 1]);
});
