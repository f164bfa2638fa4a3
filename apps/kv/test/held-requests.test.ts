import { describe, expect, it } from 'vitest';
import { HeldRequests } from '../src/cluster/held-requests.js';
import { createCommandTable } from '../src/commands/table.js';
import { RequestParser } from '../src/resp/parser.js';
import { encodeCommand } from './support/encode.js';

const commands = createCommandTable();
const FRAME_BYTES = 1024 * 1024;

/** One held request, in a frame that is much longer; and the frame. */
function hold(held: HeldRequests, hasTable: boolean): Buffer {
  const payload = Buffer.alloc(FRAME_BYTES);
  const bytes = payload.subarray(0, encodeCommand(['SET', 'k', '1']).copy(payload));
  const parser = new RequestParser();
  parser.feed(bytes);
  parser.next();
  const command = commands.findOfServer(parser.arguments)!;
  held.add({ id: 1, version: 2, bytes }, { epoch: 1, hasTable }, command, parser.arguments);
  return payload;
}

describe('HeldRequests', () => {
  it('does not keep the frame of a request', () => {
    const held = new HeldRequests();
    const payload = hold(held, true);
    const [request] = [...held.ready()];
    expect(request!.bytes).toEqual(encodeCommand(['SET', 'k', '1']));
    expect(request!.bytes.buffer).not.toBe(payload.buffer);
    expect(held.bytes).toBe(0);
  });

  it('gives nothing any more once it is cleared, also in the middle', () => {
    const held = new HeldRequests();
    hold(held, true);
    hold(held, true);
    const ready = held.ready();
    expect(ready.next().done).toBe(false);
    held.clear();
    expect(ready.next().done).toBe(true);
    expect(held.bytes).toBe(0);
  });

  it('keeps requests whose table is not here', () => {
    const held = new HeldRequests();
    hold(held, false);
    expect([...held.ready()]).toEqual([]);
    expect(held.bytes).toBeGreaterThan(0);
  });
});
