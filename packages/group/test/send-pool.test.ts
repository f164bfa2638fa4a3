import type { MemoryRegion } from '@rdmc/verbs';
import { describe, expect, it } from 'vitest';
import { type PooledMemory, SendPool } from '../src/send-pool.js';

const KIB = 1024;

/** A pool whose regions are plain memory, with a count of the open ones. */
function testPool(limitBytes: number) {
  const open = new Set<number>();
  let made = 0;
  const allocate = async (byteLength: number): Promise<MemoryRegion> => {
    if (byteLength === 8 * KIB && failing.isOn) throw new Error('no memory');
    const number = made++;
    open.add(number);
    const close = async () => void open.delete(number);
    return { byteLength, view: () => new Uint8Array(byteLength), close } as unknown as MemoryRegion;
  };
  const failing = { isOn: false };
  return { pool: new SendPool(limitBytes, allocate), open, failing, made: () => made };
}

function taken(pool: SendPool, byteLength: number): Promise<PooledMemory> {
  return new Promise((resolve, reject) => void pool.take(byteLength, resolve, reject));
}

describe('the memory for copies', () => {
  it('is reused for messages of about the same size', async () => {
    const { pool, made } = testPool(64 * KIB);
    const first = await taken(pool, 5000);
    expect(first.view.byteLength).toBe(8 * KIB);
    first[Symbol.dispose]();
    first[Symbol.dispose]();
    const again = pool.tryTake(8000)!;
    expect(again.region).toBe(first.region);
    expect(pool.tryTake(8000)).toBeUndefined();
    expect(made()).toBe(1);
    again[Symbol.dispose]();
    await pool.close();
  });

  it('stays below its limit: the next message waits for memory, and later ones behind it', async () => {
    const { pool } = testPool(16 * KIB);
    const all = await Promise.all([taken(pool, 8 * KIB), taken(pool, 8 * KIB)]);
    const order: string[] = [];
    const large = taken(pool, 16 * KIB).then((memory) => {
      order.push('large');
      return memory;
    });
    const small = taken(pool, 1).then((memory) => {
      order.push('small');
      return memory;
    });
    all[0]![Symbol.dispose]();
    // A buffer is free, and a later message does not overtake.
    expect(pool.tryTake(8 * KIB)).toBeUndefined();
    await Promise.resolve();
    expect(order).toEqual([]);
    all[1]![Symbol.dispose]();
    (await large)[Symbol.dispose]();
    (await small)[Symbol.dispose]();
    expect(order).toEqual(['large', 'small']);
    expect(pool.heldBytes).toBeLessThanOrEqual(16 * KIB);
    await pool.close();
  });

  it('gives a larger free buffer, or frees buffers, before a message waits', async () => {
    const { pool, open } = testPool(16 * KIB);
    (await taken(pool, 16 * KIB))[Symbol.dispose]();
    const small = await taken(pool, 1);
    expect(small.view.byteLength).toBe(16 * KIB);
    small[Symbol.dispose]();
    // A message of the limit takes the place of smaller buffers.
    const other = testPool(20 * KIB);
    const four = await Promise.all(Array.from({ length: 4 }, () => taken(other.pool, 1)));
    for (const memory of four) memory[Symbol.dispose]();
    const whole = await taken(other.pool, 20 * KIB);
    expect(whole.view.byteLength).toBe(20 * KIB);
    expect(other.pool.heldBytes).toBe(20 * KIB);
    expect(other.open.size).toBe(1);
    whole[Symbol.dispose]();
    await Promise.all([pool.close(), other.pool.close()]);
    expect(open.size + other.open.size).toBe(0);
  });

  it('passes on an allocation that fails, and serves the next request', async () => {
    const { pool, failing } = testPool(8 * KIB);
    failing.isOn = true;
    const failed = taken(pool, 8 * KIB);
    const next = taken(pool, 4 * KIB);
    await expect(failed).rejects.toThrow('no memory');
    (await next)[Symbol.dispose]();
    expect(pool.heldBytes).toBe(4 * KIB);
    await pool.close();
  });

  it('skips a request that was withdrawn', async () => {
    const { pool } = testPool(8 * KIB);
    const only = await taken(pool, 8 * KIB);
    const withdraw = pool.take(
      8 * KIB,
      () => expect.unreachable(),
      () => expect.unreachable(),
    );
    const last = taken(pool, 1);
    withdraw();
    only[Symbol.dispose]();
    (await last)[Symbol.dispose]();
    await pool.close();
  });

  it('frees everything, also memory that is given back or allocated after the end', async () => {
    const { pool, open } = testPool(64 * KIB);
    const used = await taken(pool, 1);
    pool.take(
      8 * KIB,
      () => expect.unreachable(),
      () => expect.unreachable(),
    );
    await Promise.resolve();
    await pool.close();
    used[Symbol.dispose]();
    expect(open.size).toBe(0);
  });
});
