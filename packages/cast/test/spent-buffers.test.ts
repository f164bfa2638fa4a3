import { createCipheriv } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { SpentBuffers } from '../src/spent-buffers.js';

describe('spent buffers', () => {
  it('are freed at once, except the last three', () => {
    const spent = new SpentBuffers();
    const cipher = createCipheriv('aes-256-gcm', Buffer.alloc(32), Buffer.alloc(12));
    const buffers = Array.from({ length: 10 }, () => cipher.update(Buffer.alloc(100_000, 'x')));
    for (const buffer of buffers) spent.add(buffer);
    expect(buffers.map(({ length }) => length)).toEqual([...Array(7).fill(0), ...Array(3).fill(100_000)]);
  });

  it('that are views of larger memory, or shared, stay', () => {
    const spent = new SpentBuffers();
    const large = Buffer.alloc(100_000);
    const views = [large.subarray(0, 50_000), Buffer.from(new SharedArrayBuffer(100)), Buffer.from('pooled')];
    for (const view of [...views, ...views, ...views]) spent.add(view);
    expect(views.map(({ length }) => length)).toEqual([50_000, 100, 6]);
  });
});
