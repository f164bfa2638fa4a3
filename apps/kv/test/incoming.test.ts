/** Slots that come while their source ends, against a log that acknowledges by hand. */
import { rejection } from '@rdmc/testing';
import { expect, it } from 'vitest';
import { Incoming } from '../src/handover/incoming.js';
import { Keyspace } from '../src/store/keyspace.js';
import { slotOfText } from '../src/store/slot.js';
import { Store } from '../src/store/store.js';
import { ManualLog } from './support/manual-server.js';

const ALL = [[0, 16_383]] as const;
const slot = slotOfText('k');

it.each([
  ['a takeover that gives this server the slots', (incoming: Incoming) => incoming.yield(ALL)],
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
    number: 2,
    ranges: [[slot + 1, slot + 1]],
    session: 't',
    version: 0,
    bytes: 0,
  });
  log.acknowledge();
  await next;
  expect(store.keyspace.get(slot, 'k')?.value).toBe('of the takeover');
});
