import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { decodeTrace, summarise, TraceFile, TraceKind, TraceProtocol } from '@rdmc/dataplane/trace';
import { type Group, RdmcNode } from '@rdmc/group';
import { reserveLoopbackPorts } from '@rdmc/mesh/loopback';
import { rejection, startMembers, temporaryDirectory } from '@rdmc/testing';
import { expect, it, onTestFinished } from 'vitest';
import { collect, createEverywhere, filledRegion, startCluster, stopCluster } from './support/cluster.js';

const MEMBERS = [0, 1, 2, 3];
const BLOCK_BYTES = 64 * 1024;
const BLOCKS = 32;
const SLOW = 2;
/** It takes 3.4 s. The others have four hundred times that, so that a stop of a second does not change who is slow. */
const SLOW_RATE = 5e6;

it('names the member with the slow link', async () => {
  const path = join(temporaryDirectory(), 'group.trace');
  const trace = await TraceFile.create(path);
  const nodes = await startMembers(await reserveLoopbackPorts(MEMBERS.length), (place) => {
    const linkRate = place.id === SLOW ? SLOW_RATE : 400 * SLOW_RATE;
    return RdmcNode.join({ ...place, trace, device: { device: 'soft', transport: 'tcp', linkRate } });
  });
  onTestFinished(() => stopCluster(nodes));
  const groups = await createEverywhere(nodes, { id: 9, members: MEMBERS, blockBytes: BLOCK_BYTES });
  const collecting = groups.slice(1).map(collect);
  await groups[0]!.send(await filledRegion(nodes[0]!, BLOCKS * BLOCK_BYTES, 1));
  await groups[0]!.send(Uint8Array.of(1));
  await Promise.all([groups[0]!.close(), ...collecting]);
  await stopCluster(nodes);
  await trace.close();

  const { events, dropped } = decodeTrace(await readFile(path));
  expect(dropped).toBe(0);
  const { members, slowest, skews } = summarise(events);
  expect(slowest!.members).toContain(SLOW);
  expect(slowest!.share).toBeGreaterThan(0.5);
  expect(members.map(({ blocksReceived, firstBlockCopies }) => [blocksReceived, firstBlockCopies])).toEqual([
    [0, 0],
    // The blocks, and one batch of small messages.
    ...MEMBERS.slice(1).map(() => [BLOCKS + 1, 1]),
  ]);
  const sent = members.reduce((sum, { blocksSent }) => sum + blocksSent, 0);
  expect(sent).toBe((BLOCKS + 1) * (MEMBERS.length - 1));
  const small = events.filter(({ protocol }) => protocol === TraceProtocol.SMALL);
  expect(small.filter(({ kind }) => kind === TraceKind.SEND_STARTED).map(({ peer }) => peer)).toEqual([
    1, 2, 3,
  ]);
  expect(skews).toMatchObject([{ group: 9, message: 0 }]);
  const began = events.filter(({ kind, group }) => kind === TraceKind.BEGAN && group === 9);
  expect(began.map(({ member, block }) => [member, block]).sort()).toEqual(MEMBERS.map((id) => [id, BLOCKS]));
});

it.each(['worker', 'application'] as const)(
  'names both ends of each small message of many senders, with their side in the %s',
  async (thread) => {
    const path = join(temporaryDirectory(), 'many.trace');
    const trace = await TraceFile.create(path);
    const nodes = await startCluster(3, { trace, thread });
    onTestFinished(() => stopCluster(nodes));
    const groups = await createEverywhere(nodes, { id: 4, members: [2, 0, 1], senders: [1, 2] });
    // In the order of the members.
    const [of2, of0, of1] = groups as [Group, Group, Group];
    const readers = groups.map((each) => each[Symbol.asyncIterator]());
    const takeAt = (places: readonly number[]) =>
      Promise.all(places.map(async (place) => (await readers[place]!.next()).value!.release()));
    // Each message is everywhere before the next one is sent: it is a batch of its own.
    await of1.send(Uint8Array.of(1));
    await takeAt([0, 1]);
    for (let number = 0; number < 2; number += 1) {
      await of2.send(Uint8Array.of(number));
      await takeAt([1, 2]);
    }
    await Promise.all([of2, of0, of1].map((each) => each.close()));
    await stopCluster(nodes);
    await trace.close();

    const { events } = decodeTrace(await readFile(path));
    const small = events.filter(({ protocol }) => protocol === TraceProtocol.SMALL);
    const linesOf = (kind: number) =>
      small
        .filter((event) => event.kind === kind)
        .map(({ member, peer, message }) => `${member} and ${peer}: ${message}`)
        .sort();
    expect(linesOf(TraceKind.SEND_STARTED)).toEqual([
      ...['1 and 0: 0', '1 and 2: 0'],
      ...['2 and 0: 0', '2 and 0: 1', '2 and 1: 0', '2 and 1: 1'],
    ]);
    expect(linesOf(TraceKind.RECEIVED)).toEqual([
      ...['0 and 1: 0', '0 and 2: 0', '0 and 2: 1'],
      ...['1 and 2: 0', '1 and 2: 1', '2 and 1: 0'],
    ]);
  },
);

it('refuses a trace that is not a TraceFile', async () => {
  const error = await rejection(RdmcNode.loopback(1, { trace: './file' as never }));
  expect(error).toMatchObject({ code: 'ERR_RDMC_INVALID_OPTION' });
});
