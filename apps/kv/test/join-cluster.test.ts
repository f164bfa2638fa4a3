/** Which members a member waits for when it starts. */
import { type Subscription, subscription } from '@rdmc/common';
import { refusal } from '@rdmc/testing';
import { expect, it } from 'vitest';
import { waitForMembers } from '../src/node/join-cluster.js';

/** The coordinator, and servers 1 to 4. */
const LISTED = [0, 1, 2, 3, 4].map((id) => ({ id, host: '10.0.0.1', port: 7400 + id }));
/** A wait that cannot end well ends at once. */
const SHORT_MS = 1;

/** A member whose connections are made one after the other. */
function memberOf(id: number, connected: readonly number[]) {
  const peers = new Map<number, { id: number; state: string }>();
  let changed = (): void => {};
  const connect = (peer: number): void => {
    peers.set(peer, { id: peer, state: 'connected' });
    changed();
  };
  for (const peer of connected) connect(peer);
  const onMember = (listener: () => void): Subscription => {
    changed = listener;
    return subscription(() => {});
  };
  const mesh = { id, peers, onMember, signal: new AbortController().signal };
  const lead = { lead: { member: 0 }, onLead: () => subscription(() => {}) };
  return { mesh: mesh as never, lead: lead as never, peers, connect };
}

it('a server waits for as many others as it needs, also where they are not in the list', async () => {
  const { mesh, lead, connect } = memberOf(2, [0, 3, 4]);
  await expect(waitForMembers(mesh, LISTED, { servers: 3, timeoutMs: SHORT_MS, lead })).rejects.toMatchObject(
    {
      code: 'ERR_RDMC_KV_JOIN_TIMEOUT',
      message:
        'After 1 ms server 2 has no connection with server 1; it needs 3 other servers, and the coordinator',
    },
  );
  const ready = waitForMembers(mesh, LISTED, { servers: 3, timeoutMs: 60_000, lead });
  connect(5);
  await ready;
});

it('a server does not count coordinators, or servers that are lost', async () => {
  const { mesh, lead, peers } = memberOf(2, [0, 10_001, 3]);
  peers.set(5, { id: 5, state: 'failed' });
  await expect(waitForMembers(mesh, LISTED, { servers: 2, timeoutMs: SHORT_MS, lead })).rejects.toEqual(
    refusal('ERR_RDMC_KV_JOIN_TIMEOUT'),
  );
});

it('a server waits for the coordinator that leads', async () => {
  const { mesh, lead, connect } = memberOf(2, [3, 4, 5]);
  await expect(waitForMembers(mesh, LISTED, { servers: 3, timeoutMs: SHORT_MS, lead })).rejects.toThrow(
    'server 2 has no connection with the coordinator, server 1;',
  );
  const ready = waitForMembers(mesh, LISTED, { servers: 3, timeoutMs: 60_000, lead });
  connect(0);
  await ready;
});

it('at the first start of a cluster the coordinator waits for all servers in the list', async () => {
  const { mesh, connect } = memberOf(0, [1, 2, 3, 5]);
  await expect(waitForMembers(mesh, LISTED, { timeoutMs: SHORT_MS })).rejects.toThrow(
    /^After 1 ms the coordinator has no connection with server 4$/,
  );
  const ready = waitForMembers(mesh, LISTED, { timeoutMs: 60_000 });
  connect(4);
  await ready;
});
