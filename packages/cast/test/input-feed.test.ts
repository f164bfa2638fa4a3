import type { Group } from '@rdmc/group';
import { describe, expect, it } from 'vitest';
import { InputFeed } from '../src/sender/input-feed.js';
import type { MessageFiller } from '../src/sender/pump.js';

const MESSAGE_BYTES = 1000;
/** What a message has room for. */
const ROOM = 900;

const forming = Promise.resolve({ signal: new AbortController().signal } as Group);

const reader: MessageFiller = {
  enterRun: async () => {},
  fill: async ({ sequence }) => ({
    ...{ bytes: ROOM, last: false, keptBytes: 0 },
    contentBytes: (sequence + 1) * ROOM,
  }),
};

function feedOf(chunkBytes: number) {
  const given = { bytes: 0 };
  async function* chunks(): AsyncGenerator<Uint8Array> {
    for (;;) {
      given.bytes += chunkBytes;
      yield new Uint8Array(chunkBytes);
    }
  }
  return { given, feed: new InputFeed({ chunks: chunks(), name: Buffer.from('x'), mode: 0o600 }) };
}

const order = (sequence: number) => ({ region: 0, byteLength: MESSAGE_BYTES, sequence, forgetBelow: 0 });

describe('an input', () => {
  it('is read as far as messages have room for it, however many follow', async () => {
    const { given, feed } = feedOf(100);
    let confirmed = 0;
    const fed = feed.filler(reader, () => confirmed);
    for (let sequence = 0; sequence < 200; sequence += 1) {
      await fed.fill(order(sequence), forming);
      confirmed = sequence + 1;
    }
    expect(given.bytes - 200 * ROOM).toBeLessThanOrEqual(MESSAGE_BYTES);
    feed.close();
  });
});
