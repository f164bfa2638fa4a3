import { describe, expect, it, vi } from 'vitest';
import { ScanBuffers } from '../src/scanner/scan-buffers.js';

const IDLE_MS = 5_000;

describe('the buffers of scans', () => {
  it('are used again, so that repeated scans do not allocate', async () => {
    const buffers = new ScanBuffers(2, IDLE_MS);
    const first = await buffers.take(100);
    buffers.give(first);
    for (let scan = 0; scan < 50; scan += 1) {
      const buffer = await buffers.take(100 - scan);
      expect(buffer).toBe(first);
      buffers.give(buffer);
    }
  });

  it('are replaced by larger ones where they are too small', async () => {
    const buffers = new ScanBuffers(1, IDLE_MS);
    buffers.give(await buffers.take(10));
    expect((await buffers.take(20)).byteLength).toBe(20);
  });

  it('limit the scans that have one: the next one waits, in order', async () => {
    const buffers = new ScanBuffers(2, IDLE_MS);
    const held = [await buffers.take(10), await buffers.take(10)];
    const served: number[] = [];
    const waiting = [10, 30].map(async (byteLength) => {
      const buffer = await buffers.take(byteLength);
      served.push(byteLength);
      return buffer;
    });
    await Promise.resolve();
    expect(served).toEqual([]);
    buffers.give(held[0]!);
    expect(await waiting[0]).toBe(held[0]);
    buffers.give(held[1]!);
    expect((await waiting[1])!.byteLength).toBe(30);
    expect(served).toEqual([10, 30]);
  });

  it('are given up after a time without a scan', async () => {
    vi.useFakeTimers();
    try {
      const buffers = new ScanBuffers(2, IDLE_MS);
      const first = await buffers.take(10);
      buffers.give(first);
      vi.advanceTimersByTime(IDLE_MS - 1);
      expect(await buffers.take(10)).toBe(first);
      vi.advanceTimersByTime(IDLE_MS);
      buffers.give(first);
      vi.advanceTimersByTime(IDLE_MS);
      expect(await buffers.take(10)).not.toBe(first);
    } finally {
      vi.useRealTimers();
    }
  });
});
