import assert from 'node:assert/strict';
import { remoteKey } from '@rdmc/verbs';
import { range } from '../rig/expect.js';
import { connected } from '../rig/peer.js';
import type { SuiteContext } from '../suite-context.js';

export function signalling({ test }: SuiteContext): void {
  test('unsignalled requests execute and complete silently', { bothWays: true }, async (a, b) => {
    const [near, far] = await connected(a, b);
    const [from, to] = await Promise.all([a.region(4_096), b.region(4_096)]);
    await Promise.all([from.fill(1), to.fill(50)]);
    await far.receive({ id: 80 });
    const at = (offset: number) => ({ sges: [from.sge(offset, 1_024)], remote: to.remote(offset) });
    await near.post(
      { id: 1, opcode: 'WRITE', signaled: false, ...at(0) },
      { id: 2, opcode: 'WRITE', signaled: false, ...at(1_024) },
      { id: 3, opcode: 'SEND', signaled: false },
      { id: 4, opcode: 'WRITE', ...at(2_048) },
    );
    await near.done(4);
    await far.done(80);
    await to.holdsOnly(1, 0, 3_072, 50);
    await near.nothingMore();
  });

  test('ten times the depth: a signalled request frees the slots before it', {}, async (a, b) => {
    const sendDepth = 16;
    const [near] = await connected(a, b, { sendDepth, cqDepth: 32 });
    const [from, to] = await Promise.all([a.region(64), b.region(8 * sendDepth * 10)]);
    await from.fill(1);
    for (const round of range(10)) {
      await near.post(
        ...range(sendDepth).map((i) => {
          const id = round * sendDepth + i;
          const signaled = i === sendDepth - 1;
          return {
            id,
            opcode: 'WRITE',
            sges: [from.sge(0, 8)],
            remote: to.remote(8 * id),
            signaled,
          } as const;
        }),
      );
      await near.done(round * sendDepth + sendDepth - 1);
    }
    for (const i of range(10 * sendDepth)) await to.holds(1, 8 * i, 8);
    await near.nothingMore();
  });

  test('signalAll completes unsignalled requests too', {}, async (a, b) => {
    const [near] = await connected(a, b, { signalAll: true });
    const to = await b.region(64);
    const write = { opcode: 'WRITE', inline: new Uint8Array(8), remote: to.remote() } as const;
    await near.post(...range(5).map((id) => ({ id, ...write, signaled: false })));
    for (const id of range(5)) await near.done(id);
  });

  test('an unsignalled request that fails completes', {}, async (a, b) => {
    const [near] = await connected(a, b);
    const [from, to] = await Promise.all([a.region(64), b.region(64)]);
    const remote = { address: to.remote().address, rkey: remoteKey(to.remote().rkey ^ 0x5a5a) };
    const bad = { opcode: 'WRITE', sges: [from.sge()], remote, signaled: false } as const;
    await near.post({ id: 1, ...bad }, { id: 2, ...bad }, { id: 3, ...bad });
    await near.ends([
      [1, 'REMOTE_ACCESS_ERROR'],
      [2, 'WORK_REQUEST_FLUSHED'],
      [3, 'WORK_REQUEST_FLUSHED'],
    ]);
    assert.equal(await near.state(), 'ERROR');
  });
}
