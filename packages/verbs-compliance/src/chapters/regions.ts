import assert from 'node:assert/strict';
import { failsWith, range } from '../rig/expect.js';
import { connected } from '../rig/peer.js';
import type { SuiteContext } from '../suite-context.js';

const GIB = 1_073_741_824;

export function regions({ test }: SuiteContext): void {
  test('a region with an outstanding request stays open until the request completes', {}, async (a, b) => {
    const [near, far] = await connected(a, b);
    const region = await b.region(4_096);
    await far.receive({ id: 1, sges: [region.sge()] });
    assert.equal(await region.outstanding(), 1);
    await failsWith(region.closeNow(), 'ERR_RDMC_REGION_BUSY');
    await failsWith(b.call('closeAborted', { region: region.handle }), 'ERR_RDMC_ABORTED');
    const closing = region.close();
    assert.equal(await b.call('isClosed', { region: region.handle }), false);
    const from = await a.region(4_096);
    await near.run({ opcode: 'SEND', sges: [from.sge()] });
    await far.done(1);
    await closing;
    assert.equal(await b.call('isClosed', { region: region.handle }), true);
  });

  test('the source of a SEND that waits for its receiver cannot be closed', {}, async (a, b) => {
    const [near, far] = await connected(a, b);
    const [from, to] = await Promise.all([a.region(4_096), b.region(4_096)]);
    await from.fill(1);
    await near.post({ id: 1, opcode: 'SEND', sges: [from.sge()] });
    await failsWith(from.closeNow(), 'ERR_RDMC_REGION_BUSY');
    await far.receive({ id: 1, sges: [to.sge()] });
    await Promise.all([near.done(1), far.done(1)]);
    await to.holds(1);
    await from.closeNow();
  });

  test('a flush frees a region as a completion does', {}, async (a, b) => {
    const [, far] = await connected(a, b);
    const region = await b.region(4_096);
    await far.receive({ id: 1, sges: [region.sge()] });
    const closing = region.close();
    await far.modifyToError();
    await far.ends([[1, 'WORK_REQUEST_FLUSHED']]);
    await closing;
  });

  test('closing the queue pair frees the regions of its outstanding requests', {}, async (a, b) => {
    const [near, far] = await connected(a, b);
    const [from, into] = await Promise.all([a.region(64), b.region(64)]);
    await far.receive({ id: 1, sges: [into.sge()] });
    await far.close();
    await into.close();
    await near.close();
    await from.close();
  });

  test('one region many times in one request counts until that completes', {}, async (a, b) => {
    const [near, far] = await connected(a, b);
    const [from, to] = await Promise.all([a.region(64), b.region(256)]);
    await from.fill(1);
    await near.post({ id: 1, opcode: 'SEND', sges: [from.sge(0, 32), from.sge(32, 32), from.sge(0, 32)] });
    assert.ok((await from.outstanding()) > 0);
    await far.receive({ id: 1, sges: [to.sge()] });
    await Promise.all([near.done(1), far.done(1)]);
    assert.equal(await from.outstanding(), 0);
    await to.holds(1, 0, 64);
    await to.holds(1, 64, 32);
  });

  test('revoking does not affect local use or other regions', { bothWays: true }, async (a, b) => {
    const [near, far] = await connected(a, b);
    const [region, other] = await Promise.all([b.region(4_096), b.region(4_096)]);
    const mine = await a.region(4_096);
    await Promise.all([region.fill(1), mine.fill(50)]);
    await region.revoke();
    await region.holds(1);
    await region.fill(2);
    await far.run({ opcode: 'WRITE', sges: [region.sge()], remote: mine.remote() });
    await mine.holds(2);
    await near.run({ opcode: 'WRITE', sges: [mine.sge()], remote: other.remote() });
    await other.holds(2);
    await region.closeNow();
  });

  test('revoking does not affect receives, posted before or after', { bothWays: true }, async (a, b) => {
    const [near, far] = await connected(a, b);
    const [mine, region] = [await a.region(64), await b.region(64)];
    await Promise.all([mine.fill(1), region.fill(50)]);
    await far.receive({ id: 1, sges: [region.sge(0, 16)] });
    await region.revoke();
    await far.receive({ id: 2, sges: [region.sge(16, 16)] });
    for (const [id, offset] of [
      [1, 0],
      [2, 16],
    ] as const) {
      await near.run({ opcode: 'SEND', sges: [mine.sge(offset, 16)] });
      await far.done(id);
    }
    await region.holdsOnly(1, 0, 32, 50);
    await region.closeNow();
  });

  test('views and ranges are checked against the region', {}, async (a) => {
    const region = await a.region(100);
    const at = (offset: number, length: number) => {
      return a.call('read', { region: region.handle, offset, length });
    };
    assert.equal((await at(100, 0)).byteLength, 0);
    await failsWith(at(100, 1), 'ERR_RDMC_OUT_OF_BOUNDS');
    await failsWith(at(-1, 1), 'ERR_RDMC_OUT_OF_BOUNDS');
    await failsWith(at(0, 101), 'ERR_RDMC_OUT_OF_BOUNDS');
    await region.closeNow();
    await failsWith(at(0, 1), 'ERR_RDMC_REGION_CLOSED');
  });

  test('invalid lengths are refused', {}, async (a) => {
    for (const length of [0, -1, 1.5, Number.NaN]) {
      await failsWith(a.region(length), 'ERR_RDMC_INVALID_OPTION');
    }
    await failsWith(a.registered(0), 'ERR_RDMC_INVALID_OPTION');
  });

  test('memory is allocated and freed a thousand times without growing the process', {}, async (a, b) => {
    const cycle = async (): Promise<void> => {
      for (let i = 0; i < 250; i += 1) {
        const region = await b.region(64 * 1_024);
        await region.fill(i);
        await region.closeNow();
      }
    };
    const [near] = await connected(a, b);
    await cycle();
    const before = await b.call('holdings', undefined);
    await cycle();
    await cycle();
    await cycle();
    const after = await b.call('holdings', undefined);
    assert.ok(after.descriptors <= before.descriptors + 2, `${before.descriptors} → ${after.descriptors}`);
    assert.ok(after.sharedMappings <= before.sharedMappings + 2, JSON.stringify([before, after]));
    assert.equal(await near.state(), 'RTS');
  });

  test(
    'regions of many sizes are allocated and freed under traffic, each with its own bytes',
    { bothWays: true },
    async (a, b) => {
      const [near] = await connected(a, b);
      const mine = await a.region(9 * 1_048_576);
      const sizes = [1, 4_096, 100_000, 3 * 1_048_576, 64, 9 * 1_048_576, 2_000_000, 8];
      for (const round of range(40, 1)) {
        const length = Math.min(sizes[round % sizes.length]!, a.attributes.maxMessageBytes);
        const target = await b.region(length);
        await mine.fill(round, 0, length);
        const sges = [mine.sge(0, length)];
        await near.run({ opcode: 'WRITE', sges, remote: target.remote() });
        await target.holds(round);
        await target.fill(round + 1);
        await near.run({ opcode: 'READ', sges, remote: target.remote() });
        await mine.holds(round + 1, 0, length);
        if (round % 3 !== 0) await target.closeNow();
      }
    },
  );

  const large = { variable: 'RDMC_TEST_LARGE', timeoutMs: 120_000 };
  test('a region beyond 4 GiB, written and read on both sides of the border', large, async (a, b) => {
    const [near] = await connected(a, b);
    const size = 4 * GIB + 8_192;
    const [mine, theirs] = await Promise.all([a.region(1_048_576), b.region(size)]);
    for (const [i, offset] of [0, 2 * GIB - 500_000, 4 * GIB - 500_000, size - 1_000].entries()) {
      const length = Math.min(mine.length, size - offset);
      await mine.fill(i);
      const sges = [mine.sge(0, length)];
      await near.run({ opcode: 'WRITE', sges, remote: theirs.remote(offset) });
      await theirs.holds(i, offset, length);
      await mine.fill(50);
      await near.run({ opcode: 'READ', sges, remote: theirs.remote(offset) });
      await mine.holds(i, 0, length);
    }
  });
}
