import { describe, expect, it } from 'vitest';
import { Lifetime, subscription } from '../src/index.js';

describe('Lifetime', () => {
  it('ends with the first reason', () => {
    const lifetime = new Lifetime();
    expect(lifetime.signal.aborted).toBe(false);
    lifetime.end('first');
    lifetime.end('second');
    expect(lifetime.signal.reason).toBe('first');
  });

  it('is closed when everything is free, which is not when it ends', async () => {
    const lifetime = new Lifetime();
    const seen: string[] = [];
    const closed = lifetime.closed.then(() => seen.push('closed'));
    lifetime.end(new Error('gone'));
    await Promise.resolve();
    seen.push('freed');
    lifetime.free();
    await closed;
    expect(seen).toEqual(['freed', 'closed']);
  });
});

describe('a subscription', () => {
  it('ends once, by close or at the end of a block', () => {
    let ends = 0;
    const begun = subscription(() => {
      ends += 1;
    });
    begun.close();
    begun[Symbol.dispose]();
    expect(ends).toBe(1);
  });
});
