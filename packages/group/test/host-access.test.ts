import type { IncomingHandler, RdmcNode, ReceivedMessage, RegionRange } from '@rdmc/group';
import { PATIENT, peek, protectionAt, rejection } from '@rdmc/testing';
import { afterEach, describe, expect, it } from 'vitest';
import {
  clusterForAll,
  collect,
  createEverywhere,
  filledRegion,
  groupIdForEach,
  sha256,
  startCluster,
  stopCluster,
} from './support/cluster.js';

const BLOCK = 4096;
const SIZES = [1, BLOCK, 0, BLOCK + 1, 40 * BLOCK - 7];
/** The message begins there in its region. */
const OFFSET = 3;

/** Memory that the processor cannot access, for each message of a receiver. */
function withoutHostAccess(node: RdmcNode, rights = { remoteWrite: true }): IncomingHandler {
  return async (byteLength) => {
    const region = await node.protectionDomain.allocate(OFFSET + byteLength, {
      ...rights,
      hostAccess: false,
    });
    return { region, offset: OFFSET };
  };
}

interface Found {
  readonly protection: string | undefined;
  readonly hash: string;
}

/** The messages of a receiver, as a debugger reads them. */
async function peekAll(messages: AsyncIterable<ReceivedMessage>): Promise<Found[]> {
  const found: Found[] = [];
  for await (const message of messages) {
    const { region, offset, byteLength } = message;
    const refused = expect.objectContaining({ code: 'ERR_RDMC_NO_HOST_ACCESS' });
    expect(() => message.view).toThrow(refused);
    const bytes = peek(region.address + offset, byteLength);
    found.push({ protection: protectionAt(region.address), hash: sha256(bytes) });
    message.release();
    await region.close();
  }
  return found;
}

describe.each(['shm', 'tcp'] as const)('memory that the processor cannot access, over %s', (transport) => {
  const nodes = clusterForAll(4, { device: { device: 'soft', transport } });
  const group = groupIdForEach();

  it.each(['worker', 'device'] as const)('gets messages of all sizes; the %s relays', async (relay) => {
    const options = { ...PATIENT, id: group.id, members: [0, 1, 2, 3], blockBytes: BLOCK, relay };
    const groups = await Promise.all(
      nodes.map((node) => node.createGroup({ ...options, incoming: withoutHostAccess(node) })),
    );
    const received = groups.slice(1).map(peekAll);
    const regions = [];
    for (const [index, byteLength] of SIZES.entries()) {
      const region = await filledRegion(nodes[0]!, Math.max(byteLength, 1), index + 1);
      await groups[0]!.send({ region, byteLength });
      regions.push({ region, byteLength });
    }
    await Promise.all(groups.map((each) => each.close()));
    const expected = regions.map(({ region, byteLength }) => ({
      protection: '---s',
      hash: sha256(region.view(0, byteLength)),
    }));
    for (const each of received) expect(await each).toEqual(expected);
    expect(groups[1]!.progress()).toMatchObject({ firstBlockCopies: 4 });
    await Promise.all(regions.map(({ region }) => region.close()));
  });
});

describe('memory that neither the processor nor the device can write', () => {
  let nodes: RdmcNode[] = [];
  afterEach(() => stopCluster(nodes));

  it('is refused if it lacks the access right', async () => {
    nodes = await startCluster(2);
    const options = { id: 1, members: [0, 1], blockBytes: BLOCK };
    const incoming = withoutHostAccess(nodes[1]!, { remoteWrite: false });
    const groups = await createEverywhere(nodes, { ...options, incoming });
    const region = await filledRegion(nodes[0]!, BLOCK, 1);
    const sending = groups[0]!.send(region).catch(() => {});
    const error = await rejection(collect(groups[1]!));
    expect(error).toMatchObject({ code: 'ERR_RDMC_INCOMING_FAILED', memberId: 1 });
    expect(error.cause).toMatchObject({ code: 'ERR_RDMC_INVALID_REGION' });
    expect(error.message).toContain('remoteWrite');
    await sending;
  });

  it('ends only its group, and the next WRITEs have another loop-back', async () => {
    nodes = await startCluster(2);
    const options = { members: [0, 1], blockBytes: BLOCK };
    const usable = withoutHostAccess(nodes[1]!);
    const revoked: IncomingHandler = async (...asked) => {
      const given = (await usable(...asked)) as RegionRange;
      given.region.revoke();
      return given;
    };
    const [bad, good] = await Promise.all([
      createEverywhere(nodes, { ...options, id: 1, incoming: revoked }),
      createEverywhere(nodes, { ...options, id: 2, incoming: usable }),
    ]);
    const received = peekAll(good[1]!);
    const region = await filledRegion(nodes[0]!, 3 * BLOCK, 3);
    await good[0]!.send(region);
    // One block: others could not be received into a revoked region.
    const sending = bad[0]!.send({ region, byteLength: BLOCK }).catch(() => {});
    const error = await rejection(collect(bad[1]!));
    expect(error).toMatchObject({ code: 'ERR_RDMC_INCOMING_FAILED', memberId: 1 });
    expect(error.message).toContain('REMOTE_ACCESS_ERROR');
    await sending;
    expect(await rejection(bad[0]!.close())).toMatchObject({ code: 'ERR_RDMC_MEMBER_LOST', memberId: 1 });
    await good[0]!.send(region);
    await Promise.all(good.map((each) => each.close()));
    const { hash } = (await received)[0]!;
    expect(hash).toBe(sha256(region.view(0, 3 * BLOCK)));
    expect((await received).map((each) => each.hash)).toEqual([hash, hash]);
  });

  it('a readable stream of it ends its group at all members', async () => {
    nodes = await startCluster(2);
    const options = { id: 1, members: [0, 1], blockBytes: BLOCK, smallMessageBytes: 0 };
    const groups = await createEverywhere(nodes, { ...options, incoming: withoutHostAccess(nodes[1]!) });
    const reading = groups[1]!.readable().toArray();
    const sending = groups[0]!.send(Buffer.alloc(BLOCK)).catch(() => {});
    expect(await rejection(reading)).toMatchObject({ code: 'ERR_RDMC_NO_HOST_ACCESS' });
    expect(await rejection(groups[0]!.close())).toMatchObject({ code: 'ERR_RDMC_MEMBER_LOST', memberId: 1 });
    await sending;
  });
});
