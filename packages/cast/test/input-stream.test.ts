import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { MessageChannel } from 'node:worker_threads';
import { temporaryDirectory } from '@rdmc/testing';
import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { InputStream } from '../src/reader/input-stream.js';
import { MessageChecks } from '../src/stream/message-check.js';
import { CHECKSUM, store } from './support/local-cast.js';
import { seededBytes } from './support/tree.js';

const open: InputStream[] = [];
afterEach(() => {
  for (const stream of open.splice(0)) stream.close();
});

/** A stream whose parts are all there. */
function streamOf(parts: readonly Uint8Array[], checks?: MessageChecks): InputStream {
  const { port1, port2 } = new MessageChannel();
  for (const bytes of parts) port1.postMessage({ bytes: new Uint8Array(bytes) });
  port1.postMessage({ end: true });
  const time = { seconds: 1_700_000_000, nanoseconds: 0 };
  const stream = new InputStream({ name: Buffer.from('in'), mode: 0o640, time, port: port2 }, CHECKSUM, {
    checks,
  });
  open.push(stream);
  return stream;
}

const MESSAGE_BYTES = 4096;

function messagesOf(stream: InputStream): Buffer[] {
  const messages: Buffer[] = [];
  for (;;) {
    const buffer = Buffer.alloc(MESSAGE_BYTES);
    const { bytes, last } = stream.fill(messages.length, buffer);
    messages.push(buffer.subarray(0, bytes));
    if (last) return messages;
  }
}

const lengths = fc.array(fc.integer({ min: 0, max: 3 * MESSAGE_BYTES }), { maxLength: 6 });

describe('an input of unknown length', () => {
  it('arrives as a file, however its bytes are cut', () => {
    fc.assert(
      fc.property(lengths, fc.boolean(), (sizes, checked) => {
        const parts = sizes.map((size, seed) => seededBytes(size, seed));
        const directory = temporaryDirectory();
        const stream = streamOf(parts, checked ? new MessageChecks(CHECKSUM) : undefined);
        const report = store(messagesOf(stream), directory);
        const whole = Buffer.concat(parts);
        expect(report).toMatchObject({ files: 1, bytes: whole.length, problems: [] });
        expect(report.names.map((name) => Buffer.from(name).toString())).toEqual(['in']);
        expect(readFileSync(join(directory, 'in')).equals(whole)).toBe(true);
        expect(statSync(join(directory, 'in')).mode & 0o777).toBe(0o640);
        expect(stream.totals).toMatchObject({ files: 1, bytes: whole.length });
      }),
      { numRuns: 60 },
    );
  });

  it('of messages that end anywhere has an end: at each length around that of a message', () => {
    for (let size = MESSAGE_BYTES - 300; size <= MESSAGE_BYTES; size += 1) {
      const messages = messagesOf(streamOf([seededBytes(size, 1)]));
      expect(messages.length).toBeLessThanOrEqual(2);
      const directory = temporaryDirectory();
      if (size % 20 === 0) expect(store(messages, directory)).toMatchObject({ files: 1, bytes: size });
    }
  });

  it('has the same messages when they are filled again, until they are forgotten', () => {
    const stream = streamOf([seededBytes(5 * MESSAGE_BYTES, 7)], new MessageChecks(CHECKSUM));
    const messages = messagesOf(stream).map((message) => Buffer.from(message));
    const again = (sequence: number): Buffer => {
      const buffer = Buffer.alloc(MESSAGE_BYTES);
      return buffer.subarray(0, stream.fill(sequence, buffer).bytes);
    };
    for (const sequence of [3, 0, 4, 2]) expect(again(sequence).equals(messages[sequence]!)).toBe(true);
    stream.forget(3);
    expect(() => again(2)).toThrow(RangeError);
    expect(again(3).equals(messages[3]!)).toBe(true);
    expect(stream.fill(messages.length, Buffer.alloc(MESSAGE_BYTES))).toMatchObject({ bytes: 0, last: true });
  });
});
