import { createHash } from 'node:crypto';
import { thrown } from '@rdmc/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { OutlineFrame } from '../src/control/frames.js';
import { Outlines } from '../src/receiver/outlines.js';
import { decodeMessage } from '../src/stream/message-decoder.js';
import { checkOutline, outlineHash } from '../src/stream/outline.js';
import { encode, record } from './support/records.js';

const records = fc.array(record, { maxLength: 12 });

describe('an outline', () => {
  it('is everything but the data of files', () => {
    fc.assert(
      fc.property(records, (given) => {
        const message = encode(given, 3);
        const data = [...decodeMessage(message, 3)].flatMap((each) =>
          'data' in each && each.data.length > 0 ? [each.data] : [],
        );
        const kept: Buffer[] = [];
        let from = 0;
        for (const part of data) {
          const at = part.byteOffset - message.byteOffset;
          kept.push(message.subarray(from, at));
          from = at + part.length;
        }
        kept.push(message.subarray(from));
        expect(outlineHash(message)).toBe(createHash('sha256').update(Buffer.concat(kept)).digest('hex'));
        for (const part of data) part.fill(0);
        checkOutline(message, 3, createHash('sha256').update(Buffer.concat(kept)).digest('hex'));
      }),
      { seed: 1, numRuns: 200 },
    );
  });

  it('differs where any other byte differs', () => {
    const message = encode(
      fc.sample(record, { seed: 2, numRuns: 6 }).filter((each) => !('data' in each)),
      0,
    );
    const expected = outlineHash(message);
    for (let at = 0; at < message.length; at += 1) {
      const altered = Buffer.from(message);
      altered[at]! ^= 0x10;
      expect(thrown(() => checkOutline(altered, 0, expected))).toMatchObject({
        code: expect.stringMatching(/^ERR_RDMC_(HASH_MISMATCH|CAST_PROTOCOL)$/),
      });
    }
  });
});

describe('outlines of a receiver', () => {
  const frame = (groupId: number, message: number, sha256 = `${groupId}-${message}`): OutlineFrame => ({
    type: 'outline',
    ...{ groupId, message, sha256 },
  });

  it('are found whether they come before or after their message', async () => {
    const outlines = new Outlines();
    outlines.enterRun(1);
    outlines.arrived(frame(1, 0));
    const later = outlines.take(1, 1);
    // A frame may come before its run is entered.
    outlines.arrived(frame(2, 0));
    outlines.arrived(frame(1, 1));
    expect(await Promise.all([outlines.take(1, 0), later])).toEqual(['1-0', '1-1']);
    outlines.enterRun(2);
    expect(await outlines.take(2, 0)).toBe('2-0');
  });

  it('of another run are not used, and do not pile up', () => {
    const outlines = new Outlines();
    outlines.enterRun(2);
    for (let message = 0; message < 10_000; message += 1) outlines.arrived(frame(1, message));
    const flood = () => {
      for (let message = 0; message < 10_000; message += 1) outlines.arrived(frame(2, message));
    };
    expect(thrown(flood)).toMatchObject({ code: 'ERR_RDMC_CAST_PROTOCOL' });
  });
});
