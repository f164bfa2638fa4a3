import { type Group, type GroupError, type LiveNodeOptions, RdmcNode } from '@rdmc/group';
import { expect, it, onTestFinished } from 'vitest';
import { collect, createEverywhere, filledRegion, sha256 } from './support/cluster.js';

/** Joins through the first of the others; through nobody: as the first one. */
async function enter(
  id: number,
  others: readonly RdmcNode[],
  options: Partial<LiveNodeOptions> = {},
): Promise<RdmcNode> {
  const [contact] = others;
  const { host, port } = contact?.members.find((member) => member.id === contact.id) ?? {};
  const node = await RdmcNode.join({
    id,
    join: contact ? [`${host}:${port}`] : [],
    listen: { host: '127.0.0.1', port: 0 },
    device: 'soft',
    windowMs: 0,
    timeoutMs: 60_000,
    ...options,
  });
  onTestFinished(() => node.close());
  return node;
}

/** Resolves when the node is connected to that process of the member. */
function connected(node: RdmcNode, member: number, incarnation: number): Promise<void> {
  return new Promise((resolve) => {
    const events = node.onMember((event) => {
      if (event.type !== 'joined' || event.member !== member || event.incarnation !== incarnation) return;
      events.close();
      resolve();
    });
  });
}

/** Resolves with the reason when the group ends. */
function endOf({ signal }: Group): Promise<GroupError> {
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(signal.reason)));
}

/** Sends one message through a group, and checks it at all receivers. */
async function use(nodes: readonly RdmcNode[], groups: readonly Group[]): Promise<void> {
  const region = await filledRegion(nodes[0]!, 50_000, 7);
  const collecting = groups.slice(1).map(collect);
  await groups[0]!.send(region);
  await Promise.all(groups.map((group) => group.close()));
  for (const received of await Promise.all(collecting)) {
    expect(received).toEqual([{ number: 0, byteLength: 50_000, hash: sha256(region.view()) }]);
  }
  await region.close();
}

it('groups of members that come and go: a list names processes, and a process that was replaced ends them', async () => {
  const [a, b] = await (async () => {
    const first = await enter(0, []);
    return [first, await enter(1, [first])] as const;
  })();
  await connected(a, 1, 1);
  await use([a, b], await createEverywhere([a, b], { id: 1, members: [0, 1] }));

  // A third member joins while a group is open. The next group has it.
  const old = await enter(2, [b]);
  await Promise.all([a, b].map((node) => connected(node, 2, 1)));
  const groups = await createEverywhere([a, b, old], { id: 2, members: [0, 1, 2] });
  expect(groups[1]!.processes).toEqual([0, 1, 2].map((id) => ({ id, incarnation: 1 })));
  const region = await filledRegion(a, 50_000, 8);
  const messages = groups.slice(1).map((group) => group[Symbol.asyncIterator]());
  await groups[0]!.send(region);
  for (const each of messages) (await each.next()).value!.release();

  // Another process takes the id of the third one, which still runs.
  const ended = groups.map(endOf);
  const next = await enter(2, [a], { replace: true });
  const errors = await Promise.all(ended);
  expect(old.signal.reason).toMatchObject({ code: 'ERR_RDMC_REPLACED' });
  for (const error of errors.slice(0, 2)) {
    expect(error).toMatchObject({ code: 'ERR_RDMC_MEMBER_LOST', memberId: 2 });
    expect(error.delivered!.get(1)).toBe(1);
  }
  await region.close();
  await old.closed;

  // A group of the same id has the new process, and nothing of the old one.
  await Promise.all([a, b].map((node) => connected(node, 2, 2)));
  const nodes = [a, b, next];
  const again = await createEverywhere(nodes, { id: 2, members: [0, 1, 2] });
  expect(again.map((group) => group.processes.map(({ incarnation }) => incarnation))).toEqual(
    nodes.map(() => [1, 1, 2]),
  );
  await use(nodes, again);
});

it('a member that is lost and comes back is another connection: its group has ended, the next one works', async () => {
  const a = await enter(0, []);
  const b = await enter(1, [a]);
  await connected(a, 1, 1);
  const groups = await createEverywhere([a, b], { id: 1, members: [0, 1] });
  const epochs: number[] = [];
  const back = new Promise<void>((resolve) => {
    a.onMember(({ type, epoch }) => {
      if (type === 'joined') epochs.push(epoch);
      if (epochs.length === 2) resolve();
    });
  });
  const ended = groups.map(endOf);
  a.mesh.reportFailure(1, 'a test of it');
  for (const error of await Promise.all(ended)) expect(error.code).toBe('ERR_RDMC_MEMBER_LOST');
  await back;
  expect(epochs[1]).toBeGreaterThan(epochs[0]!);
  await use([a, b], await createEverywhere([a, b], { id: 1, members: [0, 1] }));
});
