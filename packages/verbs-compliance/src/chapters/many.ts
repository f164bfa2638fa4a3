import assert from 'node:assert/strict';
import { range } from '../rig/expect.js';
import { connected, joinEnds, type Peer } from '../rig/peer.js';
import type { SuiteContext } from '../suite-context.js';
import { LONG_MS } from '../wait.js';

const PAIRS = 200;
const PER_PAIR = 5;
const MIB = 1_048_576;
const LARGE = 4 * MIB;
const TRANSFERS = 24;

export function manyQueuePairs({ test }: SuiteContext): void {
  const options = { bothWays: true, timeoutMs: LONG_MS };
  test(`${PAIRS} queue pairs on one completion queue`, options, async (a, b) => {
    const [cqA, cqB] = await Promise.all([a.completionQueue(4_096), b.completionQueue(4_096)]);
    const depths = { sendDepth: 8, receiveDepth: 8 };
    const ends = await Promise.all(
      range(PAIRS).map(() => {
        return Promise.all([a.end({ cq: cqA, ...depths }), b.end({ cq: cqB, ...depths })]);
      }),
    );
    await Promise.all(ends.map(([near, far]) => joinEnds(near, far)));
    const slot = PER_PAIR * 16;
    const [from, to] = await Promise.all([a.region(PAIRS * slot), b.region(PAIRS * slot)]);
    await Promise.all([from.fill(1), to.fill(50)]);
    await Promise.all(
      ends.map(([, far], i) => {
        const receive = (k: number) => ({ id: i * PER_PAIR + k, sges: [to.sge(i * slot + 16 * k, 16)] });
        return far.receive(...range(PER_PAIR).map(receive));
      }),
    );
    await Promise.all(
      ends.map(([near], i) => {
        const send = (k: number) => {
          const sges = [from.sge(i * slot + 16 * k, 16)];
          return { id: i * PER_PAIR + k, opcode: 'SEND', sges } as const;
        };
        return near.post(...range(PER_PAIR).map(send));
      }),
    );
    const total = PAIRS * PER_PAIR;
    const [sent, received] = await Promise.all([ends[0]![0].poll(total), ends[0]![1].poll(total)]);
    for (const [side, completions] of [sent, received].entries()) {
      for (const [i, pair] of ends.entries()) {
        const own = completions.filter(({ queuePair }) => queuePair === pair[side]!.number);
        assert.ok(own.every(({ status }) => status === 'SUCCESS'));
        assert.deepEqual(
          own.map(({ id }) => id),
          range(PER_PAIR, i * PER_PAIR),
        );
      }
    }
    await to.holds(1);
  });

  /**
   * Two queue pairs with TRANSFERS writes each, started by one doorbell, the first connected with this weight. Returns
   * whether the first ended its own before the second, and how many the other had ended by then.
   */
  async function race(a: Peer, b: Peer, weight: number) {
    const [cq, cqB] = await Promise.all([a.completionQueue(), b.completionQueue()]);
    const pairs = await Promise.all(
      range(2).map(() => Promise.all([a.end({ cq, sendDepth: TRANSFERS }), b.end({ cq: cqB })])),
    );
    for (const [i, [near, far]] of pairs.entries()) {
      await joinEnds(near, far, i === 0 ? { one: { weight } } : {});
    }
    const [from, to] = await Promise.all([a.region(LARGE), b.region(2 * LARGE)]);
    // Both are ready, and one doorbell starts both: with two doorbells, or two messages of the receiver, a machine with other
    // work could advance one far before the other begins.
    for (const [near] of pairs) await near.run({ opcode: 'WRITE', sges: [from.sge()], remote: to.remote() });
    const targets = pairs.map(([near], i) => ({
      qp: near.qp,
      remote: to.remote(i * LARGE),
      count: TRANSFERS,
    }));
    await a.call('postWritesTogether', { device: a.device, region: from.handle, targets });
    const completions = await pairs[0]![0].poll(2 * TRANSFERS);
    assert.ok(completions.every(({ status }) => status === 'SUCCESS'));
    const ofFirst = completions.map(({ queuePair }) => queuePair === pairs[0]![0].number);
    const firstWon = ofFirst.lastIndexOf(true) < ofFirst.lastIndexOf(false);
    const whenWon = ofFirst.slice(0, ofFirst.lastIndexOf(firstWon));
    return { firstWon, loserDone: whenWon.filter((first) => first !== firstWon).length };
  }

  test('two queue pairs with much to send advance together', { needs: ['fairQueuePairs'] }, async (a, b) => {
    const { loserDone } = await race(a, b, 1);
    const message = `one ended its ${TRANSFERS} while the other had ${loserDone}`;
    assert.ok(loserDone >= TRANSFERS / 2, message);
  });

  test(
    'a queue pair of weight 4 has four turns for each of another',
    { needs: ['weights'] },
    async (a, b) => {
      const { firstWon, loserDone } = await race(a, b, 4);
      const message = `the ${firstWon ? 'first' : 'second'} ended its ${TRANSFERS} while the other had ${loserDone}`;
      // A quarter, and one turn.
      assert.ok(firstWon && loserDone >= TRANSFERS / 8 && loserDone <= TRANSFERS / 2, message);
    },
  );

  test(
    'a queue pair of weight 16 has more turns than one of weight 4',
    { needs: ['weights'] },
    async (a, b) => {
      const { firstWon, loserDone } = await race(a, b, 16);
      // A sixteenth, and one turn; with weight 4 a quarter.
      assert.ok(firstWon && loserDone <= TRANSFERS / 8, `the other had ${loserDone} of ${TRANSFERS}`);
    },
  );

  test('a small WRITE overtakes large ones', { needs: ['fairQueuePairs'] }, async (a, b) => {
    const cq = await a.completionQueue();
    const [large, far] = await Promise.all([a.end({ cq }), b.end()]);
    await joinEnds(large, far);
    const [small, peer] = await Promise.all([a.end({ cq }), b.end()]);
    await joinEnds(small, peer);
    const [from, to] = await Promise.all([a.region(64 * MIB), b.region(64 * MIB)]);
    const remote = to.remote();
    // Both are ready, and one doorbell starts them in this order: with two, the large ones could end before the second.
    for (const end of [large, small]) await end.run({ opcode: 'WRITE', sges: [from.sge(0, 8)], remote });
    const count = 8;
    const targets = [
      { qp: large.qp, remote, count },
      { qp: small.qp, remote, count: 1, byteLength: 8 },
    ];
    await a.call('postWritesTogether', { device: a.device, region: from.handle, targets });
    const completions = await large.poll(count + 1);
    assert.ok(completions.every(({ status }) => status === 'SUCCESS'));
    const at = completions.findIndex(({ queuePair }) => queuePair === small.number);
    assert.ok(at >= 0 && at < count - 1, `the small WRITE was completion ${at + 1} of ${count + 1}`);
  });

  test('separate completion queues for sends and for receives', {}, async (a, b) => {
    const [near, far] = await connected(a, b);
    const [sendCq, receiveCq] = await Promise.all([a.completionQueue(), a.completionQueue()]);
    const info = await a.call('createQueuePair', { pd: await a.pd(), cq: sendCq, receiveCq });
    const other = await b.end();
    const target = { qp: info.qp, address: other.address, options: {} };
    await Promise.all([a.call('connect', target), other.connect(info.address)]);
    await a.call('postReceive', { qp: info.qp, requests: [{ id: 8 }] });
    await other.run({ opcode: 'SEND' });
    const received = await a.call('poll', { cq: receiveCq, count: 1 });
    assert.deepEqual([received[0]!.id, received[0]!.opcode], [8, 'RECEIVE']);
    await other.receive({ id: 9 });
    await a.call('postSend', { qp: info.qp, requests: [{ id: 4, opcode: 'SEND' }] });
    const sent = await a.call('poll', { cq: sendCq, count: 1 });
    assert.deepEqual([sent[0]!.id, sent[0]!.opcode], [4, 'SEND']);
    assert.deepEqual(await a.call('pollNow', { cq: receiveCq }), []);
    await Promise.all([near.nothingMore(), far.nothingMore(), other.done(9)]);
  });
}
