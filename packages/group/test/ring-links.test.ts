import { rejection } from '@rdmc/testing';
import type { QueuePairAddress } from '@rdmc/verbs';
import { expect, it } from 'vitest';
import type { CheckedGroupOptions } from '../src/checked-group-options.js';
import type { GroupEnvironment } from '../src/environment.js';
import { RingLinks } from '../src/many/ring-links.js';
import type { RingAddresses, SmallAddress } from '../src/records.js';

const queue = {} as QueuePairAddress;
const ring = { address: 4096, rkey: 1 };

/** The links of member 2 in a group of 0, 1, 2 and 3, of which 1, 2 and 3 send. */
function testLinks() {
  const connected: { link: number; address: SmallAddress }[] = [];
  const connectSmall = async ({ link, address }: { link: number; address: SmallAddress }) => {
    connected.push({ link, address });
    return 'shm';
  };
  const environment = { memberId: 2, link: { commands: { connectSmall } } };
  const options = { members: [0, 1, 2, 3], senders: [1, 2, 3] };
  const links = new RingLinks(
    environment as unknown as GroupEnvironment,
    options as unknown as CheckedGroupOptions,
    0,
  );
  return { links, connected };
}

it('the links of a sender lead to all others, and behind them come those of the other senders', async () => {
  const { links, connected } = testLinks();
  expect(links.members).toEqual([0, 1, 3, 1, 3]);
  expect(await links.connect(3, { in: { queue, ring }, out: { queue, ring: null } })).toBe('shm');
  expect(await links.connect(0, { in: { queue, ring }, out: null })).toBe('shm');
  expect(connected.map(({ link }) => link)).toEqual([2, 4, 0]);
});

it.each<[string, RingAddresses | undefined]>([
  ['nothing', undefined],
  ['no link as a sender', { in: { queue, ring }, out: null }],
  ['no ring', { in: { queue, ring: null }, out: { queue, ring: null } }],
])('a member that sends %s is refused before a connection begins', async (_name, addresses) => {
  const { links, connected } = testLinks();
  expect((await rejection(links.connect(3, addresses))).message).toContain('did not send the address');
  expect(connected).toEqual([]);
});
