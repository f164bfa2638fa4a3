import { rejection } from '@rdmc/testing';
import type { MemoryRegion } from '@rdmc/verbs';
import { describe, expect, it } from 'vitest';
import { BufferSlabs, bufferBytes } from '../src/buffer-slabs.js';
import { BUFFERS_PER_SLAB, EAGER_BYTES, EAGER_NETWORK_BYTES, SPARE_BUFFERS } from '../src/constants.js';
import { NO_KEY } from '../src/worker/block-range.js';
import { BufferShare } from '../src/worker/buffer-share.js';
import { FirstBufferPool } from '../src/worker/first-buffers.js';

const BYTES = 8;

function poolFor(groups: number, spare: number): FirstBufferPool {
  const pool = new FirstBufferPool(BYTES, spare);
  pool.add(1000, NO_KEY, groups + spare);
  return pool;
}

describe('first-block buffers of a node', () => {
  it('give each group one, whatever the others have, and no buffer twice', () => {
    const pool = poolFor(3, 2);
    const [a, b] = [new BufferShare(pool), new BufferShare(pool)];
    const ofA = [a.take(), a.take(), a.take()];
    expect(a.take()).toBe(-1);
    const own = b.take();
    expect(b.take()).toBe(-1);
    // A group that is opened while all spare buffers are in use.
    const late = new BufferShare(pool).take();
    expect(new Set([...ofA, own, late]).size).toBe(5);
    expect([...ofA, own, late].every((buffer) => buffer >= 0)).toBe(true);
    expect(pool.address(own) % BYTES).toBe(0);
  });

  it('leave one with an idle group, and the others to all', () => {
    const pool = poolFor(2, 2);
    const [a, b] = [new BufferShare(pool), new BufferShare(pool)];
    const [first, second] = [a.take(), a.take()];
    a.free(first);
    // The receive of the next message stays on the spare one: now that is the group's own.
    const ofB = [b.take(), b.take(), b.take()];
    expect(ofB.includes(second)).toBe(false);
    expect(ofB.every((buffer) => buffer >= 0)).toBe(true);
    a.free(second);
    expect(a.take()).toBe(second);
    expect(a.take()).toBe(-1);
  });

  it('come back when a group ends', () => {
    const pool = poolFor(1, 3);
    const share = new BufferShare(pool);
    for (let i = 0; i < 4; i += 1) share.take();
    share.end();
    const next = new BufferShare(pool);
    expect(new Set([next.take(), next.take(), next.take(), next.take()]).size).toBe(4);
    expect(next.take()).toBe(-1);
  });
});

function slabs() {
  const log: string[] = [];
  let open = 0;
  let refuses = false;
  const port = {
    allocate: async (byteLength: number) => {
      if (refuses) throw new Error('out of memory');
      open += 1;
      log.push(`allocate ${byteLength}`);
      const close = async () => {
        open -= 1;
      };
      return { handle: open, close } as unknown as MemoryRegion;
    },
    add: async ({ buffers }: { readonly buffers: number }) => void log.push(`add ${buffers}`),
    drop: async (bytes: number) => void log.push(`drop ${bytes}`),
  };
  const refuse = (value: boolean) => {
    refuses = value;
  };
  return { all: new BufferSlabs(port), log, open: () => open, refuse };
}

describe('the memory of first-block buffers', () => {
  it('has a buffer for each group and the spare ones, and is freed with the last group', async () => {
    const { all, log, open } = slabs();
    const groups = 40;
    await Promise.all(Array.from({ length: groups }, () => all.join(BYTES)));
    expect(open()).toBe(Math.ceil((groups + SPARE_BUFFERS) / BUFFERS_PER_SLAB));
    for (let left = 0; left < groups - 1; left += 1) await all.leave(BYTES);
    expect(log).not.toContain(`drop ${BYTES}`);
    const leaving = all.leave(BYTES);
    const joining = all.join(BYTES);
    await Promise.all([leaving, joining]);
    expect(open()).toBe(1);
    expect(log.slice(-3)).toEqual([
      `drop ${BYTES}`,
      `allocate ${BYTES * BUFFERS_PER_SLAB}`,
      `add ${BUFFERS_PER_SLAB}`,
    ]);
    await all.leave(BYTES);
    expect(open()).toBe(0);
  });

  it('keeps sizes apart, and counts no group without memory', async () => {
    const { all, log, open, refuse } = slabs();
    await all.join(BYTES);
    refuse(true);
    expect(await rejection(all.join(2 * BYTES))).toMatchObject({ message: 'out of memory' });
    refuse(false);
    await all.join(2 * BYTES);
    expect(open()).toBe(2);
    await all.leave(2 * BYTES);
    expect(open()).toBe(1);
    await all.leave(BYTES);
    expect(open()).toBe(0);
    expect(log.filter((each) => each.startsWith('allocate'))).toHaveLength(2);
  });

  it('is a power of two up to the longest block that is sent without memory for its message', () => {
    const sizes = [1, 16_384, 16_385, EAGER_BYTES, 2 * EAGER_BYTES];
    expect(sizes.map((bytes) => bufferBytes(bytes, ['shm']))).toEqual([
      1,
      16_384,
      32_768,
      EAGER_BYTES,
      EAGER_BYTES,
    ]);
    expect(bufferBytes(EAGER_BYTES, ['shm', 'tcp'])).toBe(EAGER_NETWORK_BYTES);
  });
});
