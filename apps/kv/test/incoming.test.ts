/** Slots that come while their source ends, against a log that acknowledges by hand. */
import { rejection } from '@rdmc/testing';
import { expect, it } from 'vitest';
import { recordHeader, u32 } from '../src/cluster/peer-frames.js';
import { Incoming } from '../src/handover/incoming.js';
import { Keyspace } from '../src/store/keyspace.js';
import { encodeKeyObject } from '../src/store/record.js';
import { slotOfText } from '../src/store/slot.js';
import { Store } from '../src/store/store.js';
import { ManualLog } from './support/manual-server.js';

const NEVER = new AbortController().signal;
const ALL = [[0, 16_383]] as const;
const slot = slotOfText('k');

it.each([
  ['a takeover that gives this server the slots', (incoming: Incoming) => incoming.yield(2, ALL)],
  ['the end of the connection', (incoming: Incoming) => incoming.sessionEnded('s')],
  ['the coordinator', (incoming: Incoming) => void incoming.drop(1)],
])('a hand-over that waits for the log does not begin after %s has ended it', async (_, end) => {
  const log = new ManualLog();
  const store = new Store(new Keyspace(), log);
  const incoming = new Incoming(store);
  store.put(slot, 'k', 'of an earlier tenure', 0);
  store.commit();
  const begun = rejection(incoming.begin({ number: 1, ranges: ALL, session: 's', version: 0, bytes: 0 }));
  end(incoming);
  log.acknowledge();
  expect(await begun).toMatchObject({ code: 'ERR_RDMC_KV_HANDOVER_FAILED' });
  // The takeover's entry, which the next hand-over of some of the slots must leave alone.
  await store.forget(ALL);
  store.put(slot, 'k', 'of the takeover', 0);
  store.commit();
  const next = incoming.begin({
    number: 3,
    ranges: [[slot + 1, slot + 1]],
    session: 't',
    version: 0,
    bytes: 0,
  });
  log.acknowledge();
  await next;
  expect(store.keyspace.get(slot, 'k')?.value).toBe('of the takeover');
});

it.each([
  ['a takeover of the slots', (incoming: Incoming) => incoming.yield(2, ALL)],
  ['another run of the coordinator', (incoming: Incoming) => incoming.reset(2)],
])('the first message of a hand-over that comes after %s has no effect', async (_, end) => {
  const log = new ManualLog();
  const store = new Store(new Keyspace(), log);
  const incoming = new Incoming(store);
  end(incoming);
  store.put(slot, 'k', 'of the takeover', 0);
  store.commit();
  const late = rejection(incoming.begin({ number: 1, ranges: ALL, session: 's', version: 0, bytes: 0 }));
  log.acknowledge();
  expect(await late).toMatchObject({ code: 'ERR_RDMC_KV_HANDOVER_FAILED' });
  incoming.sessionEnded('s');
  await store.forget([]);
  expect(store.keyspace.get(slot, 'k')?.value).toBe('of the takeover');
});

it('the first message of a hand-over that comes after a later one of the slots has no effect', async () => {
  const store = new Store(new Keyspace(), new ManualLog());
  const incoming = new Incoming(store);
  const facts = { ranges: ALL, version: 0, bytes: 0 };
  await incoming.begin({ number: 2, session: 'of the heir', ...facts });
  const late = await rejection(incoming.begin({ number: 1, session: 'of the dead server', ...facts }));
  expect(late).toMatchObject({ code: 'ERR_RDMC_KV_HANDOVER_FAILED' });
  // The later one goes on.
  await incoming.brought({ number: 2, frames: 0, isLast: true, version: 0 }, NEVER);
});

it('slots that do not fit into the log are refused, and what it has of them stays', async () => {
  const log = new ManualLog();
  const store = new Store(new Keyspace(), log);
  const incoming = new Incoming(store);
  log.usage.limitBytes = 1000;
  log.usage.liveBytes = 300;
  const announcement = { number: 1, ranges: ALL, session: 's', version: 0 };
  store.put(slot, 'k', 'here', 0);
  store.commit();
  const refused = rejection(incoming.begin({ ...announcement, bytes: 501 }));
  log.acknowledge();
  expect(await refused).toMatchObject({
    code: 'ERR_RDMC_KV_SERVER_FULL',
    message: expect.stringMatching(/300 bytes of at most 1000, so 501 bytes more.*--segments/),
  });
  expect(store.keyspace.get(slot, 'k')?.value).toBe('here');
  expect(await incoming.begin({ ...announcement, bytes: 500 })).toBe(store.lastVersion);
});

it('a hand-over ends when the log has no room for its entries', async () => {
  const log = new ManualLog();
  const store = new Store(new Keyspace(), log);
  const incoming = new Incoming(store);
  await incoming.begin({ number: 1, ranges: ALL, session: 's', version: 0, bytes: 0 });
  log.refusal = Object.assign(new Error('Log 3 uses all of its segments'), { code: 'ERR_RDMC_LOG_FULL' });
  const { parts, type } = encodeKeyObject({ key: 'k', version: 1, value: 'v', expiresAt: 0 });
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  incoming.take(Buffer.concat([u32(1), recordHeader(type, length), ...parts]), 's');
  const failed = incoming.brought({ number: 1, frames: 1, isLast: false, version: 1 }, NEVER);
  expect(await rejection(failed)).toMatchObject({
    code: 'ERR_RDMC_KV_SERVER_FULL',
    message: expect.stringMatching(/^Log 3 .*--segments$/),
  });
  expect(store.keyspace.size).toBe(0);
});
