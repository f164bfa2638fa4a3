import type { Group, MemoryRegion } from '@rdmc/group';
import { expect, it, onTestFinished } from 'vitest';
import { createEverywhere, filledRegion, startCluster, stopCluster } from './support/cluster.js';

const MESSAGES = 24;
const MESSAGE_BYTES = 512 * 1024;
/** Slow enough that the link, and not a busy machine, is what both groups wait for: 42 ms for a message. */
const LINK_RATE = 100e6;

class Receiver {
  count = 0;
  readonly done: Promise<void>;

  constructor(
    group: Group,
    private readonly onMessage: (count: number) => void = () => {},
  ) {
    this.done = this.#receive(group);
  }

  async #receive(group: Group): Promise<void> {
    for await (const message of group) {
      this.count += 1;
      this.onMessage(this.count);
      message.release();
    }
  }
}

async function sendAll(root: Group, region: MemoryRegion): Promise<void> {
  await Promise.all(Array.from({ length: MESSAGES }, () => root.send(region)));
  await root.close();
}

it('a group with a weight passes a bulk group on the link of their root', async () => {
  const nodes = await startCluster(3, { device: { device: 'soft', transport: 'tcp', linkRate: LINK_RATE } });
  onTestFinished(() => stopCluster(nodes));
  const blocks = { blockBytes: 64 * 1024 } as const;
  const bulk = await createEverywhere([nodes[0]!, nodes[1]!], { id: 1, members: [0, 1], ...blocks });
  const [urgentRoot, urgentGroup] = await Promise.all(
    [0, 2].map((id) => nodes[id]!.createGroup({ id: 2, members: [0, 2], weight: 8, ...blocks })),
  );
  const region = await filledRegion(nodes[0]!, MESSAGE_BYTES, 1);
  const slow = new Receiver(bulk[1]!);
  let ofBulk = 0;
  const fast = new Receiver(urgentGroup!, (count) => {
    if (count === MESSAGES) ofBulk = slow.count;
  });
  const sending = sendAll(bulk[0]!, region);
  await sendAll(urgentRoot!, region);
  await fast.done;
  // With equal shares the bulk group, which began first, would have all of them. With eight turns to one it has three, and
  // those that came while a thread of the urgent group did not run.
  expect(ofBulk).toBeLessThan((3 * MESSAGES) / 4);
  await sending;
  await slow.done;
  expect([slow.count, fast.count]).toEqual([MESSAGES, MESSAGES]);
});
