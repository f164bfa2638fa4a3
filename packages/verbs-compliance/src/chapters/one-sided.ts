import assert from 'node:assert/strict';
import { connected } from '../rig/peer.js';
import { remoteByte } from '../rig/remote-byte.js';
import type { SuiteContext } from '../suite-context.js';
import { LIMIT_MS } from '../wait.js';

const SIZE = 8 * 1_048_576;
const RELEASE = 0x5a;

export function oneSided({ test }: SuiteContext): void {
  const needs = ['secondThread', 'atomics'] as const;
  test(
    'READ, WRITE and atomics proceed while the target does not run JavaScript',
    { needs },
    async (a, b) => {
      const [near, far] = await connected(a, b);
      const [mine, theirs, flags] = await Promise.all([a.region(SIZE), b.region(SIZE), b.region(64)]);
      await Promise.all([mine.fill(50), theirs.fill(1), flags.write(new Uint8Array(64))]);
      await far.receive({ id: 5 });
      const blocked = { region: flags.handle, offset: 0, releaseValue: RELEASE, limitMs: LIMIT_MS };
      const releasedInTime = b.call('blockUntilWritten', blocked);
      await remoteByte(near, flags, 0, 1);

      await near.run({ opcode: 'READ', sges: [mine.sge()], remote: theirs.remote() });
      await mine.holds(1);
      await mine.fill(2);
      await near.run({ opcode: 'WRITE', sges: [mine.sge()], remote: theirs.remote() });
      const add = { opcode: 'FETCH_AND_ADD', compareOrAdd: 3n, sges: [mine.sge(0, 8)] } as const;
      await near.run({ ...add, remote: flags.remote(8) });
      // A SEND into a receive that was posted before does not need the target's thread either.
      await near.run({ opcode: 'SEND' });
      await near.run({ opcode: 'WRITE', inline: Uint8Array.of(RELEASE), remote: flags.remote(1) });
      assert.equal(await releasedInTime, true, 'all of that happened while the target was blocked');
      await far.done(5);
      assert.equal(await flags.word(8), 3n);
      await theirs.holds(2);
    },
  );
}
