import assert from 'node:assert/strict';
import type { SendWorkRequest } from '@rdmc/verbs';
import type { End } from '../rig/end.js';
import { range } from '../rig/expect.js';
import { connected, joinEnds } from '../rig/peer.js';
import { remoteByte } from '../rig/remote-byte.js';
import type { SuiteContext } from '../suite-context.js';
import { LIMIT_MS, LONG_MS } from '../wait.js';

const MIB = 1_048_576;
const ALL_MESSAGES = 20_000;
/** A busy machine may run the reader before and after the writes only. */
const SCAN_ATTEMPTS = 20;

export function ordering({ test, rounds }: SuiteContext): void {
  test('completions are in posting order, large and small mixed', { bothWays: true }, async (a, b) => {
    const [near, far] = await connected(a, b);
    const [mine, theirs] = await Promise.all([a.region(MIB), b.region(MIB)]);
    const lengths = [MIB, 1, 65_537, 0, 4_096, 300_000];
    const kinds = ['WRITE', 'READ', 'SEND', 'WRITE_WITH_IMM'] as const;
    const requests: SendWorkRequest[] = range(48).map((id) => ({
      id,
      opcode: kinds[id % kinds.length]!,
      sges: [mine.sge(0, lengths[id % lengths.length]!)],
      remote: theirs.remote(),
      immediate: id,
    }));
    await far.receive(...range(24).map((id) => ({ id, sges: [theirs.sge()] })));
    await near.post(...requests);
    const [sent, received] = await Promise.all([near.poll(48), far.poll(24)]);
    const ids = (completions: typeof sent): number[] => completions.map(({ id }) => id);
    assert.ok([...sent, ...received].every(({ status }) => status === 'SUCCESS'));
    assert.deepEqual(ids(sent), range(48));
    assert.deepEqual(ids(received), range(24));
    const immediates = received.map(({ immediate }) => immediate).filter((value) => value !== undefined);
    assert.deepEqual(
      immediates,
      range(12).map((i) => 4 * i + 3),
    );
  });

  test(
    'bytes written before a SEND are placed when its receive completes',
    { bothWays: true },
    async (a, b) => {
      const [near, far] = await connected(a, b);
      const [from, to] = await Promise.all([a.region(3 * MIB), b.region(3 * MIB)]);
      for (const round of range(8, 1)) {
        await from.fill(round);
        await far.receive({ id: round });
        const write = { opcode: 'WRITE', sges: [from.sge()], remote: to.remote(), signaled: false } as const;
        await near.post({ id: 0, ...write }, { id: round, opcode: 'SEND' });
        // The receiver checks them together with the completion, before the sender has polled.
        await far.done(round);
        await to.holds(round);
        await near.done(round);
      }
    },
  );

  test('a large message arrives although its sender never polls', {}, async (a, b) => {
    const size = 5 * MIB + 3;
    const [near, far] = await connected(a, b);
    const [from, to] = await Promise.all([a.region(size), b.region(size)]);
    await from.fill(1);
    await far.receive({ id: 1 });
    const request = {
      opcode: 'WRITE_WITH_IMM',
      sges: [from.sge()],
      remote: to.remote(),
      immediate: 1,
    } as const;
    await near.post({ id: 1, ...request });
    await far.done(1);
    await to.holds(1);
    await near.done(1);
  });

  test(
    'a fenced SEND carries the bytes that the READ before it fetched',
    { bothWays: true },
    async (a, b) => {
      const [near, far] = await connected(a, b);
      const [relay, source] = await Promise.all([a.region(MIB), b.region(2 * MIB)]);
      for (const round of range(8, 1)) {
        await Promise.all([relay.fill(50), source.fill(round, 0, MIB)]);
        await far.receive({ id: round, sges: [source.sge(MIB, MIB)] });
        await near.post(
          { id: 1, opcode: 'READ', sges: [relay.sge()], remote: source.remote() },
          { id: 2, opcode: 'SEND', sges: [relay.sge()], fence: true },
        );
        await Promise.all([far.done(round), near.done(1).then(() => near.done(2))]);
        await source.holds(round, MIB, MIB);
      }
    },
  );

  const count = rounds(ALL_MESSAGES);
  test(`${count} messages each way arrive once and in order`, {}, async (a, b) => {
    const window = 32;
    const ends = await connected(a, b);
    const [cqA, cqB] = await Promise.all([a.completionQueue(), b.completionQueue()]);
    const back = await Promise.all([a.end({ cq: cqA }), b.end({ cq: cqB })]);
    await joinEnds(back[0], back[1]);
    const [hereRing, thereRing] = await Promise.all([a.region(8 * window), b.region(8 * window)]);
    const stream = (end: End) => ({ qp: end.qp, cq: end.cq, count, window });
    const [, , there, here] = await Promise.all([
      a.call('sendNumbers', stream(ends[0])),
      b.call('sendNumbers', stream(back[1])),
      b.call('receiveNumbers', { ...stream(ends[1]), region: thereRing.handle }),
      a.call('receiveNumbers', { ...stream(back[0]), region: hereRing.handle }),
    ]);
    assert.deepEqual([there, here], [null, null]);
  });

  test('both directions of a connection at once', {}, async (a, b) => {
    const [near, far] = await connected(a, b);
    const [mine, theirs] = await Promise.all([a.region(2 * MIB), b.region(2 * MIB)]);
    await Promise.all([mine.fill(1, 0, MIB), theirs.fill(2, 0, MIB)]);
    const sixteenth = MIB / 16;
    const writes = (from: typeof mine, to: typeof mine): SendWorkRequest[] => {
      return range(16).map((id) => ({
        id,
        opcode: 'WRITE',
        sges: [from.sge(id * sixteenth, sixteenth)],
        remote: to.remote(MIB + id * sixteenth),
      }));
    };
    await Promise.all([near.post(...writes(mine, theirs)), far.post(...writes(theirs, mine))]);
    const all = range(16).map((id) => [id, 'SUCCESS'] as const);
    await Promise.all([near.ends(all), far.ends(all)]);
    await Promise.all([theirs.holds(1, MIB), mine.holds(2, MIB)]);
  });

  const unitTest = { needs: ['writeOrder', 'secondThread'], bothWays: false, timeoutMs: LONG_MS } as const;
  test('large WRITEs are placed in increasing address order, unit by unit', unitTest, async (a, b) => {
    const unitBytes = b.attributes.writeOrderUnitBytes;
    assert.ok(unitBytes >= 64, `the device guarantees an order of ${unitBytes} bytes`);
    const rounds = 40;
    const [near] = await connected(a, b);
    const [from, to] = await Promise.all([a.region(MIB), b.region(MIB)]);
    const begun = await b.region(8);
    for (const _ of range(SCAN_ATTEMPTS)) {
      await to.write(new Uint8Array(MIB));
      await begun.setWord(0n);
      const scan = { region: to.handle, unitBytes, rounds, begun: begun.handle, limitMs: 2 * LIMIT_MS };
      const watching = b.call('watchOrder', scan);
      await remoteByte(near, begun, 0, 1);
      const loop = { qp: near.qp, cq: near.cq, region: from.handle, remote: to.remote() };
      const written = await a.call('stampLoop', { ...loop, strideBytes: 64, rounds });
      assert.deepEqual(written, { rounds, failure: null });
      const report = await watching;
      assert.equal(report.violation, null);
      if (report.underWay > 0) return;
    }
    assert.fail(`the reader never scanned while the writes were placed, in ${SCAN_ATTEMPTS} attempts`);
  });
}
