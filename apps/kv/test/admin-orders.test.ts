/** Orders of `kv admin` at the server that is asked: what it does while the coordinator is away, and when it is removed itself. */
import { expect, it } from 'vitest';
import { ClusterAdmin } from '../src/admin/admin-service.js';

const failure = (code: string): Error => Object.assign(new Error('no'), { code });

/** The answers of server 3 to the words of an order. */
function adminOf(
  request: (topic: string, body: unknown) => Promise<unknown>,
  signal = new AbortController().signal,
) {
  const admin = new ClusterAdmin({ status: { self: { id: 3, signal } }, coordinator: { request } } as never);
  return async (...words: string[]): Promise<string> => (await admin.run(words)).toString();
}

it('orders wait for the coordinator that follows one that was lost', async () => {
  const codes = ['ERR_RDMC_MESH_MEMBER_LOST', 'ERR_RDMC_COORDINATOR_STALE', 'ERR_RDMC_STATE_UNREACHABLE'];
  const bodies: unknown[] = [];
  const run = adminOf(async (_, body) => {
    bodies.push(body);
    const code = codes.shift();
    if (code !== undefined) throw failure(code);
    return { drained: [5] };
  });
  expect(await run('DRAIN', '5')).toContain('{"drained":[5]}');
  expect(bodies).toEqual(Array(4).fill({ op: 'drain', server: 5 }));
  codes.push('ERR_RDMC_MESH_MEMBER_LOST');
  expect(await run('REBALANCE')).toContain('{"drained":[5]}');
});

it('a refusal is the answer', async () => {
  const run = adminOf(async () => {
    throw failure('ERR_RDMC_KV_SERVER_NEEDED');
  });
  expect(await run('REMOVE', '3')).toBe('-ERR ERR_RDMC_KV_SERVER_NEEDED no\r\n');
});

it('a server that is removed while it asks for that has the answer', async () => {
  const removal = new AbortController();
  const never = new Promise<never>(() => {});
  const run = adminOf(() => never, removal.signal);
  const [own, another] = [run('REMOVE', '3'), run('REMOVE', '4')];
  removal.abort(failure('ERR_RDMC_MESH_EVICTED'));
  expect(await own).toContain('{"isRepeated":false}');
  // Nothing is known of that one.
  const isKnown = another.then(() => true);
  expect(await Promise.race([isKnown, new Promise((resolve) => setImmediate(resolve, false))])).toBe(false);
});
