import { HiPowerNode, type LiveHiPowerNodeOptions, type Requester, type Responder } from '@rdmc/hipower';
import { rejection } from '@rdmc/testing';
import { expect, it, onTestFinished } from 'vitest';
import { deviceOver } from './support/cluster.js';

async function enter(id: number, options: Partial<LiveHiPowerNodeOptions>): Promise<HiPowerNode> {
  const node = await HiPowerNode.join({
    id,
    join: [],
    listen: { host: '127.0.0.1', port: 0 },
    device: deviceOver(),
    windowMs: 0,
    timeoutMs: 60_000,
    ...options,
  });
  onTestFinished(() => node.close());
  return node;
}

/** Resolves when the node is connected to that process of the member. */
function connected(node: HiPowerNode, member: number, incarnation: number): Promise<void> {
  return new Promise((resolve) => {
    const events = node.onMember((event) => {
      if (event.type !== 'joined' || event.member !== member || event.incarnation !== incarnation) return;
      events.close();
      resolve();
    });
  });
}

/** One message through a channel; both ends stay open. */
async function carry(requester: Requester, responder: Responder, text: string): Promise<void> {
  await requester.write(Buffer.from(text));
  const { value } = await responder[Symbol.asyncIterator]().next();
  expect(Buffer.from(value!.bytes).toString()).toBe(text);
}

it('channels end with the process at the other end; those with the next process of that id are others', async () => {
  const a = await enter(0, {});
  const { host, port } = a.members[0]!;
  const join = [`${host}:${port}`];
  const old = await enter(1, { join });
  await connected(a, 1, 1);
  const [to, from] = [
    { channel: 'orders', slots: 4, slotBytes: 64 },
    { channel: 'answers', slots: 4, slotBytes: 64 },
  ];
  const open = (other: HiPowerNode) =>
    Promise.all([
      a.createRequester({ ...to, to: 1 }),
      other.createResponder({ ...to, from: 0 }),
      other.createRequester({ ...from, to: 0 }),
      a.createResponder({ ...from, from: 1 }),
    ]);
  const [orders, taker, answers, hearer] = await open(old);
  await carry(orders, taker, 'to the old one');
  await carry(answers, hearer, 'from the old one');

  const ended = [orders, hearer].map(
    ({ signal }) => new Promise((resolve) => signal.addEventListener('abort', resolve)),
  );
  const next = await enter(1, { join, replace: true });
  await Promise.all(ended);
  for (const { signal } of [orders, hearer]) expect(signal.reason).toMatchObject({ memberId: 1 });
  expect(await rejection(orders.write(Buffer.from('late')))).toMatchObject({ memberId: 1 });
  await old.closed;
  await connected(a, 1, 2);

  // The offer of the new process arrives before this member has closed the responder that has ended.
  const offered = new Promise<void>((resolve) => {
    const messages = a.mesh.onMessage('rdmc.hipower', (_from, body) => {
      if ((body as { type: string }).type !== 'offer') return;
      messages.close();
      resolve();
    });
  });
  const requesting = next.createRequester({ ...from, to: 0 });
  await offered;
  await Promise.all([orders.close(), hearer.close()]);
  const again = await a.createResponder({ ...from, from: 1 });
  await carry(await requesting, again, 'from the new one');
});
