import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { decodeTrace, summarise, TraceFile, TraceKind, TraceProtocol } from '@rdmc/dataplane/trace';
import { RdmcNode } from '@rdmc/group';
import { reserveLoopbackPorts } from '@rdmc/mesh/loopback';
import { rejection, startMembers, temporaryDirectory } from '@rdmc/testing';
import { expect, it, onTestFinished } from 'vitest';
import { collect, createEverywhere, filledRegion, stopCluster } from './support/cluster.js';

const MEMBERS = [0, 1, 2, 3];
const BLOCK_BYTES = 64 * 1024;
const BLOCKS = 32;
const SLOW = 2;
/** Each of the others has a hundred times that, so that a busy machine does not change who is slow. */
const SLOW_RATE = 20e6;

it('names the member with the slow link', async () => {
  const path = join(temporaryDirectory(), 'group.trace');
  const trace = await TraceFile.create(path);
  const nodes = await startMembers(await reserveLoopbackPorts(MEMBERS.length), (place) => {
    const linkRate = place.id === SLOW ? SLOW_RATE : 100 * SLOW_RATE;
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

it('refuses a trace that is not a TraceFile', async () => {
  const error = await rejection(RdmcNode.loopback(1, { trace: './file' as never }));
  expect(error).toMatchObject({ code: 'ERR_RDMC_INVALID_OPTION' });
});
