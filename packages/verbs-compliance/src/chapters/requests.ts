import assert from 'node:assert/strict';
import { fillPattern } from '../pattern.js';
import { range, refusedAt } from '../rig/expect.js';
import { connected } from '../rig/peer.js';
import type { SuiteContext } from '../suite-context.js';

const IMMEDIATES = [0, 1, 0x7fff_ffff, 0x8000_0000, 0x8000_0001, 0xdead_beef, 0xffff_ffff];
const IDS = [0, 1, 0xffff_ffff, 0x1_0000_0000, 0x1_0000_0001, Number.MAX_SAFE_INTEGER];

function inlineBytes(length: number, seed: number): Uint8Array {
  const bytes = new Uint8Array(length);
  fillPattern(bytes, seed);
  return bytes;
}

export function requests({ test }: SuiteContext): void {
  test('inline bytes of every length up to the limit, reused at once', { bothWays: true }, async (a, b) => {
    const [near, far] = await connected(a, b);
    const max = a.attributes.maxInlineBytes;
    const target = await b.region(max + 64);
    const lengths = new Set([...range(9), 63, 64, 65, 127, 128, max - 1, max]);
    for (const length of [...lengths].filter((each) => each >= 0 && each <= max)) {
      await target.fill(50);
      await far.receive({ id: length, sges: [target.sge(3, max)] });
      const request = { id: length, opcode: 'SEND', inline: inlineBytes(length, 1) } as const;
      await a.call('postInlineAndScribble', { qp: near.qp, request });
      const [, received] = await Promise.all([near.done(length), far.done(length)]);
      assert.equal(received.byteLength, length);
      await target.holdsOnly(1, 3, length, 50);

      const remote = target.remote(7);
      const write = { id: length, opcode: 'WRITE', inline: inlineBytes(length, 2), remote } as const;
      await target.fill(51);
      await a.call('postInlineAndScribble', { qp: near.qp, request: write });
      await near.done(length);
      await target.holdsOnly(2, 7, length, 51);
    }
  });

  test('inline bytes reused at once while the receiver is not ready', {}, async (a, b) => {
    const [near, far] = await connected(a, b);
    const target = await b.region(64);
    await target.fill(50);
    const request = { id: 1, opcode: 'SEND', inline: inlineBytes(48, 1) } as const;
    await a.call('postInlineAndScribble', { qp: near.qp, request });
    await far.receive({ id: 1, sges: [target.sge()] });
    await Promise.all([near.done(1), far.done(1)]);
    await target.holdsOnly(1, 0, 48, 50);
  });

  test('one inline byte too many is refused, without an effect on later requests', {}, async (a, b) => {
    const [near, far] = await connected(a, b);
    const target = await b.region(4_096);
    await target.fill(50);
    const inline = inlineBytes(a.attributes.maxInlineBytes + 1, 1);
    const long = { id: 1, opcode: 'WRITE', inline, remote: target.remote() } as const;
    await refusedAt(0, near.post(long), 'ERR_RDMC_INLINE_TOO_LONG');
    await far.receive({ id: 2 });
    await near.run({ opcode: 'SEND' }, 2);
    await far.done(2);
    await target.holds(50);
    await near.nothingMore();
  });

  for (const opcode of ['SEND_WITH_IMM', 'WRITE_WITH_IMM'] as const) {
    test(`${opcode} carries all 32 bits`, { bothWays: true }, async (a, b) => {
      const [near, far] = await connected(a, b);
      const target = await b.region(64);
      for (const immediate of IMMEDIATES) {
        await far.receive({ id: 1 });
        await near.post({ id: 1, opcode, immediate, remote: target.remote() });
        const [, received] = await Promise.all([near.done(1), far.done(1)]);
        assert.equal(received.immediate, immediate);
      }
    });
  }

  for (const opcode of ['SEND_WITH_IMM', 'WRITE_WITH_IMM'] as const) {
    test(`${opcode} without an immediate carries 0, even after one with another`, {}, async (a, b) => {
      const [near, far] = await connected(a, b);
      const target = await b.region(64);
      await far.receive({ id: 1 }, { id: 2 });
      await near.run({ opcode, immediate: 0xdead_beef, remote: target.remote() });
      await near.run({ opcode, remote: target.remote() });
      const immediates = (await far.poll(2)).map(({ immediate }) => immediate);
      assert.deepEqual(immediates, [0xdead_beef, 0]);
    });
  }

  test('SEND does not carry an immediate, even after one that did', {}, async (a, b) => {
    const [near, far] = await connected(a, b);
    await far.receive({ id: 1 }, { id: 2 });
    await near.post({ id: 1, opcode: 'SEND_WITH_IMM', immediate: 9 }, { id: 2, opcode: 'SEND' });
    const [first, second] = await far.poll(2);
    assert.equal(first!.immediate, 9);
    assert.equal(second!.immediate, undefined);
    await near.poll(2);
  });

  test('ids are returned unchanged, up to 2^53 - 1', {}, async (a, b) => {
    const [near, far] = await connected(a, b);
    await far.receive(...IDS.map((id) => ({ id })));
    await near.post(...IDS.map((id) => ({ id, opcode: 'SEND' }) as const));
    const ids = async (end: typeof near): Promise<number[]> =>
      (await end.poll(IDS.length)).map(({ id }) => id);
    assert.deepEqual(await ids(near), IDS);
    assert.deepEqual(await ids(far), IDS);
  });

  test('a send larger than a batch of the fast path arrives completely', {}, async (a, b) => {
    const count = 600;
    const [near, far] = await connected(a, b, { sendDepth: count, receiveDepth: count, cqDepth: 2 * count });
    await far.receive(...range(count).map((id) => ({ id })));
    await near.post(...range(count).map((id) => ({ id, opcode: 'SEND_WITH_IMM', immediate: id }) as const));
    const received = await far.poll(count);
    assert.deepEqual(
      received.map(({ immediate }) => immediate),
      range(count),
    );
    assert.equal((await near.poll(count)).length, count);
  });
}
