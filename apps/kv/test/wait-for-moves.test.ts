/** How long `kv admin rebalance | drain` waits, and what it tells meanwhile. */
import { expect, it } from 'vitest';
import type { ClusterStatus } from '../src/admin/status.js';
import { hasSlots, remainsAtDrained, waitForMoves } from '../src/cli/wait-for-moves.js';

const REFUSED = { code: 'ERR_RDMC_KV_HANDOVER_FAILED', reason: 'there is no connection' };

/** What a status says of moves; null: the coordinator does not answer. */
type Look = null | { isRunning: boolean; left: number | null; failure?: { code: string; reason: string } };

/** The status that a look has, with one server. */
function statusOf(look: Look, server: object = {}): ClusterStatus {
  const facts = look && { moves: { moved: 0, failure: null, ...look } };
  const one = { server: 3, state: 'connected', slots: [], facts: { backup: { logs: [] } }, ...server };
  return { coordinator: { facts }, servers: [one] } as unknown as ClusterStatus;
}

/** Waits with these answers, one after the other; the last one must end the wait. */
async function waited(
  statuses: readonly ClusterStatus[],
  remains?: (status: ClusterStatus) => string | undefined,
  isHindered?: (status: ClusterStatus) => boolean,
) {
  const told: string[] = [];
  const warned: string[] = [];
  let [looks, orders] = [0, 0];
  const outcome = await waitForMoves({
    status: async () => {
      const status = statuses[looks];
      if (status === undefined) throw new Error('it did not end with the last status');
      looks += 1;
      return status;
    },
    order: async () => {
      orders += 1;
    },
    remains,
    isHindered,
    progress: (text) => told.push(text),
    warn: (text) => warned.push(text),
    pause: async () => {},
  }).then(
    () => 'done',
    (error: { code?: string; message: string }) => error.code ?? error.message,
  );
  return { outcome, looks, orders, told, warned };
}

const DONE: Look = { isRunning: false, left: 0 };

it('a coordinator that does not know how many slots are to move yet is waited for', async () => {
  const looks: Look[] = [{ isRunning: false, left: null }, { isRunning: true, left: null }, DONE];
  const { outcome, looks: seen, told } = await waited(looks.map((look) => statusOf(look)));
  expect([outcome, seen]).toEqual(['done', 3]);
  expect(told).toEqual([expect.stringContaining('it is not known how many are to move')]);
});

it('slots that nobody moves are ordered again: their coordinator ended with the order', async () => {
  const looks: Look[] = [{ isRunning: false, left: 9 }, { isRunning: true, left: 9 }, DONE];
  expect(await waited(looks.map((look) => statusOf(look)))).toMatchObject({ outcome: 'done', orders: 1 });
});

it('what hinders the moves is told once, and the return of the coordinator', async () => {
  const retried = { isRunning: true, left: 5, failure: REFUSED };
  const looks: Look[] = [null, null, retried, retried, null, retried, { isRunning: true, left: 2 }, DONE];
  const { outcome, warned } = await waited(looks.map((look) => statusOf(look)));
  expect(outcome).toBe('done');
  const [away, back] = [
    'the coordinator does not answer: slots do not move until one does',
    'a coordinator answers again',
  ];
  const failed =
    'a hand-over failed, and is tried again: ERR_RDMC_KV_HANDOVER_FAILED: there is no connection';
  expect(warned).toEqual([away, back, failed, away, back]);
});

it('a hand-over that failed for good ends the wait with its code, of whichever package', async () => {
  const failure = { code: 'ERR_RDMC_LOG_FULL', reason: 'full' };
  expect(await waited([statusOf({ isRunning: false, left: 5, failure })])).toMatchObject({
    outcome: 'ERR_RDMC_LOG_FULL',
    orders: 0,
  });
});

it('a full server does not stand in the way of a drain that is done, or that makes replicas elsewhere', async () => {
  const failure = { code: 'ERR_RDMC_KV_SERVER_FULL', reason: 'full' };
  const look = { isRunning: false, left: 5, failure };
  const drain = (...statuses: readonly ClusterStatus[]) => waited(statuses, remainsAtDrained(3), hasSlots(3));
  expect(await drain(statusOf(look, { slots: [[0, 9]] }))).toMatchObject({
    outcome: 'ERR_RDMC_KV_SERVER_FULL',
  });
  const moving = statusOf(look, { facts: { backup: { logs: ['7'] } } });
  expect(await drain(moving, moving, statusOf(look))).toMatchObject({ outcome: 'done', looks: 3, orders: 0 });
});

it('a drained server that does not answer may have replicas', async () => {
  const silent = statusOf(DONE, { state: 'silent', facts: null });
  const gone = statusOf(DONE, { state: 'absent', facts: null });
  const having = statusOf(DONE, { facts: { backup: { logs: ['7'] } } });
  const { outcome, looks, told } = await waited(
    [statusOf(DONE, { slots: [[0, 9]] }), silent, gone, having, statusOf(DONE)],
    remainsAtDrained(3),
  );
  expect([outcome, looks]).toEqual(['done', 5]);
  expect(told.map((text) => text.split('; ')[0])).toEqual([
    'slots of server 3 move',
    'server 3 does not answer: it is not known whether it has replicas',
    'server 3 is not there, and kv admin remove 3 forgets it: it is not known whether it has replicas',
    'replicas move',
  ]);
  // Without replication, or removed meanwhile.
  expect((await waited([statusOf(DONE, { facts: { backup: null } })], remainsAtDrained(3))).outcome).toBe(
    'done',
  );
  expect((await waited([statusOf(DONE)], remainsAtDrained(4))).outcome).toBe('done');
});
