import assert from 'node:assert/strict';
import { connected } from '../rig/peer.js';
import type { SuiteContext } from '../suite-context.js';

const KIB = 1_024;
const MIB = KIB * KIB;
const SIZES = [0, 1, 63, 64, 65, 4_095, 4_096, 4_097, 64 * KIB - 1, 64 * KIB, 64 * KIB + 1, MIB, 5 * MIB + 3];
/** Size of the longest message, if the device supports it. */
const LONGEST = 64 * MIB;
/** Odd, so that both sides are unaligned, in different ways. */
const FROM_OFFSET = 61;
const TO_OFFSET = 131;
const MARGIN = 200;
const AROUND = 9;

export function sizes({ test }: SuiteContext): void {
  for (const asked of [...SIZES, LONGEST]) {
    const title = asked === LONGEST ? `the longest message, up to ${LONGEST} bytes` : `${asked} bytes`;
    test(`SEND, WRITE and READ of ${title}`, { bothWays: true }, async (a, b) => {
      const size = Math.min(asked, a.attributes.maxMessageBytes, b.attributes.maxMessageBytes);
      const [near, far] = await connected(a, b);
      const [mine, theirs] = await Promise.all([a.region(size + MARGIN), b.region(size + MARGIN)]);

      await Promise.all([mine.fill(1, FROM_OFFSET), theirs.fill(AROUND)]);
      await far.receive({ id: 2, sges: [theirs.sge(TO_OFFSET, size)] });
      await near.post({ id: 1, opcode: 'SEND', sges: [mine.sge(FROM_OFFSET, size)] });
      const [, received] = await Promise.all([near.done(1), far.done(2)]);
      assert.equal(received.byteLength, size);
      await theirs.holdsOnly(1, TO_OFFSET, size, AROUND);

      await Promise.all([mine.fill(2, FROM_OFFSET), theirs.fill(AROUND)]);
      const sges = [mine.sge(FROM_OFFSET, size)];
      await near.run({ opcode: 'WRITE', sges, remote: theirs.remote(TO_OFFSET) });
      await theirs.holdsOnly(2, TO_OFFSET, size, AROUND);

      await Promise.all([theirs.fill(3, TO_OFFSET), mine.fill(AROUND)]);
      const read = await near.run({ opcode: 'READ', sges, remote: theirs.remote(TO_OFFSET) });
      assert.equal(read.byteLength, size);
      await mine.holdsOnly(3, FROM_OFFSET, size, AROUND);
    });
  }
}
