import { ofClass, rejection } from '@rdmc/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Cluster, endClusters } from '../src/cluster.js';
import { CallError, MemberProcess } from '../src/member-process.js';
import type { Outcome } from '../src/member-types.js';
import { transferAmong } from '../src/proof.js';

/** What a call was refused with. */
async function refusal(promise: Promise<unknown>): Promise<CallError> {
  return ofClass(CallError, await rejection(promise));
}

describe('a creation that cannot be', () => {
  // One cluster for all: each test shows at its end that the nodes go on.
  let cluster: Cluster;
  let id = 0;
  beforeAll(async () => {
    cluster = await Cluster.start(3);
  });
  beforeEach(() => {
    id += 1;
  });
  afterAll(async () => {
    await cluster.leave();
    await endClusters();
  });

  it('is refused at once, whatever is wrong with it, and the node goes on', async () => {
    for (const [options, code] of [
      [{ members: [0] }, 'ERR_RDMC_GROUP_TOO_SMALL'],
      [{ members: [9, 0, 1] }, 'ERR_RDMC_UNKNOWN_MEMBER'],
      [{ members: [0, 1, 9] }, 'ERR_RDMC_UNKNOWN_MEMBER'],
      [{ members: [1, 2] }, 'ERR_RDMC_NOT_A_MEMBER'],
      [{ members: [0, 1, 1] }, 'ERR_RDMC_DUPLICATE_MEMBER'],
      [{ members: [0, 1], algorithm: 'gossip' }, 'ERR_RDMC_UNKNOWN_ALGORITHM'],
      [{ members: [0, 1], algorithm: 'hybrid' }, 'ERR_RDMC_INVALID_OPTION'],
      [{ members: [0, 1], blocksize: 1 }, 'ERR_RDMC_UNKNOWN_OPTION'],
      [{ members: [0, 1], blockBytes: 0 }, 'ERR_RDMC_INVALID_OPTION'],
    ] as const) {
      const { error } = await refusal(cluster.at(0).call('createGroup', { id, ...options }));
      expect(error.code, JSON.stringify(options)).toBe(code);
    }
    await transferAmong(cluster, [0, 1, 2], id);
  });

  it.each<[string, object, object, string]>([
    ['the list', { members: [0, 1, 2] }, { members: [0, 2, 1] }, 'members'],
    ['the root', { members: [0, 1, 2] }, { members: [1, 0, 2] }, 'members'],
    ['the block size', { blockBytes: 65_536 }, { blockBytes: 65_537 }, 'blockBytes'],
    ['the algorithm', { algorithm: 'chain' }, { algorithm: 'binomial-tree' }, 'algorithm'],
  ])('members that disagree on %s: all of them hear what it is', async (_what, most, one, field) => {
    const options = { id, members: [0, 1, 2], timeoutMs: 100_000, ...most };
    const agreeing = cluster.all((member) => refusal(member.call('createGroup', options)), cluster.except(1));
    // Who asks after the others have given up finds nobody: so the last one comes when these have begun.
    await cluster.all((member) => member.call('counters'));
    const last = await refusal(cluster.at(1).call('createGroup', { ...options, ...one }));
    const refusals = [last, ...(await agreeing)];
    for (const { error } of refusals) expect(error.code).toBe('ERR_RDMC_GROUP_MISMATCH');
    // Somebody saw the difference itself; the others may have heard of it.
    expect(refusals.map(({ error }) => error.field)).toContain(field);
    for (const { error } of refusals) expect(error.message).toContain(field);
    await transferAmong(cluster, [2, 1, 0], id);
  });

  it('a member that does not create it: named by all who did', async () => {
    const creators = cluster.except(2);
    // The others have time to find each other, however busy the machine.
    const options = { id, members: [0, 1, 2], timeoutMs: 20_000 };
    const refusals = await cluster.all((member) => refusal(member.call('createGroup', options)), creators);
    for (const { error } of refusals) {
      expect(error).toMatchObject({ code: 'ERR_RDMC_GROUP_TIMEOUT', missing: [2] });
    }
    await transferAmong(cluster, [0, 1, 2], id);
  });

  it('an id that is in use, a send by a receiver: refused, and the group goes on', async () => {
    await cluster.createGroup(id, [0, 1, 2]);
    const again = await refusal(cluster.at(1).call('createGroup', { id, members: [0, 1, 2] }));
    expect(again.error.code).toBe('ERR_RDMC_GROUP_EXISTS');
    const [sent] = await cluster.at(1).call<Outcome[]>('send', { group: id, seed: 1, byteLength: 10 });
    expect(sent!.error).toMatchObject({ code: 'ERR_RDMC_NOT_ROOT', memberId: 0 });
    const [good] = await cluster.at(0).call<Outcome[]>('send', { group: id, seed: 1, byteLength: 10 });
    expect(good!.error).toBeNull();
    for (const receiver of cluster.except(0)) await receiver.event('message', ({ group }) => group === id);
  });
});

describe('a mesh that cannot be', () => {
  afterEach(endClusters);

  it('a wrong key: told to whom it concerns', async () => {
    const cluster = await Cluster.spawn(2, {
      of: { 0: { key: 'a'.repeat(32) }, 1: { key: 'b'.repeat(32) } },
      node: { timeoutMs: 20_000 },
    });
    const refusals = await cluster.all((member) => refusal(cluster.join(member)));
    const codes = refusals.map(({ error }) => error.code);
    // Who dials sees it; who is dialled sees a caller without the key, and nobody else.
    expect(codes[1]).toBe('ERR_RDMC_MESH_WRONG_KEY');
    expect(['ERR_RDMC_MESH_WRONG_KEY', 'ERR_RDMC_MESH_TIMEOUT']).toContain(codes[0]);
  });

  it('a member that never comes: named by everybody', async () => {
    const cluster = await Cluster.spawn(3, { node: { timeoutMs: 1500 } });
    cluster.at(2).signal('SIGKILL');
    await cluster.at(2).exited;
    const refusals = await cluster.all((member) => refusal(cluster.join(member)), cluster.except(2));
    for (const { error } of refusals) {
      expect(error.code).toBe('ERR_RDMC_MESH_TIMEOUT');
      expect(error.missing).toContainEqual(expect.objectContaining({ id: 2 }));
      expect(error.message).toContain('member 2');
    }
  });

  it('different lists of members', async () => {
    const cluster = await Cluster.spawn(2, { node: { timeoutMs: 100_000 } });
    const stranger = { id: 9, host: '127.0.0.1', port: 9 };
    const options = [{}, { members: [...cluster.list, stranger] }];
    const refusals = await cluster.all((member) => refusal(cluster.join(member, options[member.id])));
    expect(refusals.map(({ error }) => error.code)).toContain('ERR_RDMC_MESH_MEMBERS_DIFFER');
  });

  it('two processes with the same id: the second is turned away, and the first are well', async () => {
    const cluster = await Cluster.start(2);
    const double = new MemberProcess(1, undefined);
    try {
      await double.event('ready');
      // Where it listens is the other one's port; so that it gets as far as introducing itself, it listens elsewhere.
      const options = { id: 1, members: cluster.list, timeoutMs: 100_000, listenHost: '127.0.0.2' };
      const { error } = await refusal(double.call('join', options));
      expect(error.code).toBe('ERR_RDMC_MESH_DUPLICATE_MEMBER');
    } finally {
      double.signal('SIGKILL');
      await double.exited;
    }
    await transferAmong(cluster, [0, 1], 1);
    await cluster.leave();
  });

  it('members whose devices cannot meet', async () => {
    const cluster = await Cluster.spawn(2, {
      of: {
        0: { device: { device: 'soft', transport: 'shm' } },
        1: { device: { device: 'soft', transport: 'tcp' } },
      },
    });
    const refusals = await cluster.all((member) => refusal(cluster.join(member)));
    expect(refusals.map(({ error }) => error.code)).toContain('ERR_RDMC_DEVICE_MISMATCH');
  });
});
