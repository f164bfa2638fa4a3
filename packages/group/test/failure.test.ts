import type { DataPlane } from '@rdmc/dataplane';
import type { Group, GroupError } from '@rdmc/group';
import { PATIENT, rejection } from '@rdmc/testing';
import { QueuePair } from '@rdmc/verbs';
import { describe, expect, it } from 'vitest';
import {
  clusterForEach,
  collect,
  createEverywhere,
  filledRegion,
  holdConfirmation,
  settleMessages,
  sha256,
} from './support/cluster.js';

const ALL = [0, 1, 2, 3];

describe('a member that is lost', () => {
  const nodes = clusterForEach(ALL.length);

  /** A receiver that never gives memory: the group cannot finish a message. */
  function stall(groupOptions: { id: number; members: number[] }): Promise<Group[]> {
    return Promise.all(
      groupOptions.members.map((id) =>
        nodes[id]!.createGroup({
          ...PATIENT,
          ...groupOptions,
          blockBytes: 1000,
          incoming: (byteLength) =>
            id === 3 ? new Promise<never>(() => {}) : nodes[id]!.allocate(byteLength),
        }),
      ),
    );
  }

  it('rejects all pending calls with its id, and the survivors create a new group', async () => {
    const groups = await stall({ id: 1, members: ALL });
    const region = await filledRegion(nodes[0]!, 100_000, 1);
    const sends = [groups[0]!.send(region), groups[0]!.send(region)];
    const pending = [...sends, collect(groups[1]!), groups[2]!.close()].map(rejection);
    await nodes[3]!.close();
    const errors = await Promise.all(pending);
    for (const error of errors) expect(error).toMatchObject({ code: 'ERR_RDMC_MEMBER_LOST', memberId: 3 });
    for (const group of groups.slice(0, 3)) {
      expect(await rejection(group.close())).toMatchObject({ code: 'ERR_RDMC_MEMBER_LOST', memberId: 3 });
    }
    // The send was flushed before it was rejected: the memory is not in use any more.
    expect(region.outstanding).toBe(0);
    const survivors = await createEverywhere(nodes, { id: 1, members: [0, 1, 2] });
    const collecting = survivors.slice(1).map(collect);
    await survivors[0]!.send(region);
    await Promise.all(survivors.map((group) => group.close()));
    for (const received of await Promise.all(collecting)) {
      expect(received).toEqual([{ number: 0, byteLength: 100_000, hash: sha256(region.view()) }]);
    }
    await region.close();
  });

  it('is one end of a broken queue pair, also if all members live', async () => {
    // The `create` messages of members have the addresses of their queue pairs.
    const number = new Promise<number>((resolve) => {
      nodes[1]!.mesh.onMessage('rdmc.group', (from, body) => {
        const { type, group, address } = body as {
          type: string;
          group: number;
          address: { data: { queuePair: number } };
        };
        // Messages of the group before may still arrive.
        if (type === 'create' && from === 0 && group === 11) resolve(address.data.queuePair);
      });
    });
    const groups = await createEverywhere(nodes, { id: 11, members: ALL });
    new QueuePair(nodes[0]!.device, await number).modifyToError();
    const region = await filledRegion(nodes[0]!, 100_000, 1);
    const sending = rejection(groups[0]!.send(region));
    const errors = await Promise.all(groups.map((group) => rejection(group.close())));
    for (const error of errors) {
      expect(error.code).toBe('ERR_RDMC_MEMBER_LOST');
      expect([0, 1]).toContain(error.memberId);
      expect(error.reason).toMatch(/queue pair failed with/);
    }
    expect(await sending).toBe(errors[0]);
    await region.close();
    const again = await createEverywhere(nodes, { id: 11, members: ALL });
    await Promise.all(again.map((group) => group.close()));
  });

  it('is named when its worker dies', async () => {
    const groups = await createEverywhere(nodes, { id: 12, members: ALL });
    const reading = rejection(collect(groups[2]!));
    const { plane } = nodes[2]!.node as unknown as { plane: DataPlane };
    const { thread } = plane as unknown as { thread: { terminate(): Promise<void> } };
    await thread.terminate();
    const error = await reading;
    const errors = await Promise.all(groups.map((group) => rejection(group.close())));
    // It gets the error from the end of its own worker, or from the others, whose queue pairs broke.
    expect(error.code).toMatch(/^ERR_RDMC_(DATAPLANE_DIED|MEMBER_LOST)$/);
    expect(error.memberId).toBe(2);
    expect(error).toBe(errors[2]);
    for (const id of [0, 1, 3])
      expect(errors[id]).toMatchObject({ code: 'ERR_RDMC_MEMBER_LOST', memberId: 2 });
    await plane.closed;
    const late = await rejection(nodes[2]!.createGroup({ id: 13, members: [2, 0] }));
    expect(late.code).toBe('ERR_RDMC_DATAPLANE_DIED');
  });

  it('does not affect groups without it', async () => {
    const others = await createEverywhere(nodes, { id: 2, members: [0, 1, 2] });
    const concerned = await createEverywhere(nodes, { id: 3, members: [3, 0] });
    await nodes[3]!.close();
    expect(await rejection(concerned[1]!.close())).toMatchObject({ memberId: 3 });
    const collecting = others.slice(1).map(collect);
    const region = await filledRegion(nodes[0]!, 5000, 2);
    await others[0]!.send(region);
    await Promise.all(others.map((group) => group.close()));
    for (const received of await Promise.all(collecting)) expect(received).toHaveLength(1);
    await region.close();
  });

  it('keeps what was delivered before', async () => {
    const groups = await createEverywhere(nodes, { id: 4, members: ALL });
    const region = await filledRegion(nodes[0]!, 3000, 3);
    const messages = groups[1]![Symbol.asyncIterator]();
    await groups[0]!.send(region);
    const { value: message } = await messages.next();
    await nodes[0]!.close();
    expect(await rejection(messages.next())).toMatchObject({ code: 'ERR_RDMC_MEMBER_LOST', memberId: 0 });
    expect(message!.view).toHaveLength(3000);
    message!.release();
    await Promise.all([1, 2, 3].map((id) => rejection(groups[id]!.close())));
  });

  it('may leave once it has closed the group, also if the others have not', async () => {
    const groups = await createEverywhere(nodes, { id: 5, members: ALL });
    const region = await filledRegion(nodes[0]!, 100_000, 3);
    const collecting = groups.slice(1).map(collect);
    const sent = groups[0]!.send(region);
    await Promise.all(
      groups.map(async (group, id) => {
        await group.close();
        if (id !== 0) await nodes[id]!.close();
      }),
    );
    await sent;
    expect(await Promise.all(collecting)).toHaveLength(3);
    await region.close();
  });

  it('may close its node once it has all messages, before the others have confirmed that they have', async () => {
    const groups = await createEverywhere(nodes, { id: 15, members: ALL });
    const confirmation = holdConfirmation(nodes[3]!);
    const region = await filledRegion(nodes[0]!, 100_000, 3);
    const collecting = groups.slice(1).map(collect);
    const sent = groups[0]!.send(region);
    // Member 1 does not close the group.
    const closing = [0, 2, 3].map((id) => groups[id]!.close());
    await Promise.all([sent, ...collecting]);
    await settleMessages(nodes);
    await nodes[1]!.close();
    await settleMessages([nodes[0]!, nodes[2]!, nodes[3]!]);
    confirmation.release();
    await Promise.all(closing);
    await region.close();
  });

  it('and closes its node with all messages fails the group for members that lack some', async () => {
    const groups = await stall({ id: 16, members: ALL });
    const region = await filledRegion(nodes[0]!, 1000, 3);
    const collecting = groups.slice(1, 3).map(collect);
    const sending = groups[0]!.send(region).catch(() => {});
    const closing = [0, 2, 3].map((id) => rejection(groups[id]!.close()));
    await Promise.all(collecting);
    await settleMessages(nodes);
    await nodes[1]!.close();
    // Members 0 and 2 have their part, and member 3 will not confirm: all are told.
    for (const error of await Promise.all(closing)) {
      expect(error).toMatchObject({ code: 'ERR_RDMC_MEMBER_LOST', memberId: 1 });
    }
    await sending;
    await region.close();
  });

  it('the error says how many messages each survivor has', async () => {
    const options = { ...PATIENT, id: 17, members: ALL, blockBytes: 1000, algorithm: 'chain' as const };
    // Member 2 gets two messages and gives no memory for the third: those behind it in the chain do not get that either.
    const groups = await Promise.all(
      ALL.map((id) => {
        let messages = 0;
        return nodes[id]!.createGroup({
          ...options,
          incoming: (byteLength) => {
            messages += 1;
            return id === 2 && messages === 3
              ? new Promise<never>(() => {})
              : nodes[id]!.allocate(byteLength);
          },
        });
      }),
    );
    const region = await filledRegion(nodes[0]!, 5000, 1);
    const sends = [1, 2, 3].map(() => groups[0]!.send(region).catch(() => {}));
    // A member relays a block before it counts the message, so that member 3 can have it before member 2 says so.
    for (const id of [1, 2, 3]) {
      const messages = groups[id]![Symbol.asyncIterator]();
      for (let count = 0; count < 2; count += 1) (await messages.next()).value!.release();
    }
    await nodes[2]!.close();
    const errors = await Promise.all([0, 1, 3].map((id) => rejection(groups[id]!.close())));
    for (const error of errors) {
      expect(error).toMatchObject({ code: 'ERR_RDMC_MEMBER_LOST', memberId: 2 });
      const { delivered } = error as unknown as GroupError;
      // Member 2 closed its node, and said its number before it left.
      expect([...delivered!.keys()]).toEqual([1, 2, 3]);
      expect(delivered!.get(2)).toBe(2);
      // The third message may have reached member 1 as a whole.
      expect([2, 3]).toContain(delivered!.get(1));
      expect(delivered!.get(3)).toBe(2);
    }
    await Promise.all(sends);
    await region.close();
  });

  it('is named to all when its application refuses a message', async () => {
    const refusal = new Error('no room');
    const groups = await Promise.all(
      ALL.map((id) =>
        nodes[id]!.createGroup({
          ...PATIENT,
          id: 6,
          members: ALL,
          incoming: (byteLength) => {
            if (id === 2) throw refusal;
            return nodes[id]!.allocate(byteLength);
          },
        }),
      ),
    );
    const region = await filledRegion(nodes[0]!, 100_000, 3);
    const sending = groups[0]!.send(region).catch(() => {});
    const errors = await Promise.all(groups.map((group) => rejection(group.close())));
    await sending;
    expect(errors[2]).toMatchObject({ code: 'ERR_RDMC_INCOMING_FAILED', cause: refusal });
    for (const id of [0, 1, 3])
      expect(errors[id]).toMatchObject({ code: 'ERR_RDMC_MEMBER_LOST', memberId: 2 });
    expect(errors[1]!.message).toContain('no room');
    await region.close();
  });

  it('is named when it gives memory that is too short', async () => {
    const short = await nodes[1]!.allocate(10);
    const options = { ...PATIENT, id: 7, members: [0, 1] };
    const [root, receiver] = await Promise.all([
      nodes[0]!.createGroup(options),
      nodes[1]!.createGroup({ ...options, incoming: () => short }),
    ]);
    const region = await filledRegion(nodes[0]!, 11, 3);
    const sending = root.send(region).catch(() => {});
    const errors = await Promise.all([root, receiver].map((group) => rejection(group.close())));
    await sending;
    expect(errors[1]).toMatchObject({
      code: 'ERR_RDMC_INCOMING_FAILED',
      cause: expect.objectContaining({ code: 'ERR_RDMC_INVALID_REGION' }),
    });
    expect(errors[0]).toMatchObject({ code: 'ERR_RDMC_MEMBER_LOST', memberId: 1 });
    await Promise.all([region.close(), short.close()]);
  });

  it('returns the memory of incomplete messages', async () => {
    const given: { closed: boolean }[] = [];
    const options = { ...PATIENT, id: 10, members: [0, 1, 3], blockBytes: 1000, algorithm: 'chain' as const };
    const groups = await Promise.all(
      options.members.map((id) =>
        nodes[id]!.createGroup({
          ...options,
          incoming: async (byteLength) => {
            if (id === 3) return new Promise<never>(() => {});
            const region = await nodes[id]!.allocate(byteLength);
            given.push(region);
            return region;
          },
        }),
      ),
    );
    const region = await filledRegion(nodes[0]!, 50_000, 1);
    // The root's own part may be complete before the relay fails.
    const sending = groups[0]!.send(region).catch(() => {});
    const closing = [groups[0]!.close(), groups[1]!.close()].map(rejection);
    while (given.length === 0) await new Promise((resolve) => setImmediate(resolve));
    await nodes[3]!.close();
    await Promise.all([sending, ...closing]);
    expect(given).toHaveLength(1);
    while (!given[0]!.closed) await new Promise((resolve) => setImmediate(resolve));
    await region.close();
  });
});
