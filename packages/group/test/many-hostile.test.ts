import { Buffer } from 'node:buffer';
import type { Group, GroupOptions } from '@rdmc/group';
import { rejection } from '@rdmc/testing';
import type { SubmissionQueue } from '@rdmc/verbs';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { EntryWriter } from '../src/small/entry-writer.js';
import { rowLayout } from '../src/stable/table-layout.js';
import { clusterForAll, createEverywhere, groupIdForEach } from './support/cluster.js';

afterEach(() => vi.restoreAllMocks());

/** In the application's thread, so that requests can be changed on their way to the device. */
describe('a member of many senders that breaks the protocol', () => {
  const nodes = clusterForAll(4, { thread: 'application' });
  const group = groupIdForEach();
  const ALL = [0, 1, 2, 3];

  function create(options: Partial<GroupOptions>): Promise<Group[]> {
    return createEverywhere(nodes, { ...group, members: ALL, senders: 'all', ...options });
  }

  function prototypeOfQueue(): SubmissionQueue {
    return Object.getPrototypeOf(nodes[0]!.device.createSubmissionQueue()) as SubmissionQueue;
  }

  /** All others end with an error that names member 1, and go on in a group without it. */
  async function expectCut(groups: readonly Group[], code: string, reason?: string): Promise<void> {
    const others = [0, 2, 3];
    for (const id of others) {
      const error = await rejection(groups[id]!.closed.then(() => groups[id]!.close()));
      expect(error).toMatchObject({ code, memberId: 1 });
      if (reason !== undefined) expect(error.message).toContain(reason);
    }
    await rejection(groups[1]!.close());
    vi.restoreAllMocks();
    const again = await Promise.all(
      others.map((id) => nodes[id]!.createGroup({ ...group, members: others, senders: 'all' })),
    );
    const reader = again[1]![Symbol.asyncIterator]();
    await again[0]!.send(Buffer.of(1));
    (await reader.next()).value!.release();
    await Promise.all(again.map((each) => each.close()));
  }

  /** Reads and drops everything, so that rings are read. */
  function readAll(groups: readonly Group[]): void {
    for (const each of groups) {
      void (async () => {
        for await (const message of each) message.release();
      })().catch(() => {});
    }
  }

  it.each([
    ['a number out of sequence', 5, 'sent message 5 in place of 2', 'sender'],
    ['a number twice', 1, 'sent message 1 in place of 2', 'total'],
  ] as const)('%s is detected', async (_name, number, reason, order) => {
    const groups = await create({ order });
    readAll(groups);
    const { tryWrite } = EntryWriter.prototype;
    vi.spyOn(EntryWriter.prototype, 'tryWrite').mockImplementation(function write(
      this: EntryWriter,
      given,
      bytes,
    ) {
      return tryWrite.call(this, given === 2 ? number : given, bytes);
    });
    await groups[1]!.sendMany([0, 1, 2, 3].map((each) => Buffer.of(each)));
    await expectCut(groups, 'ERR_RDMC_PROTOCOL', reason);
  });

  it('numbers that are skipped beyond all others are detected', async () => {
    const groups = await create({ order: 'total' });
    const { trySkip } = EntryWriter.prototype;
    let isChanged = false;
    vi.spyOn(EntryWriter.prototype, 'trySkip').mockImplementation(function skip(
      this: EntryWriter,
      number,
      count,
    ) {
      const takes = !isChanged;
      isChanged = true;
      return trySkip.call(this, number, takes ? 0x7000_0000 : count);
    });
    // The members in front of member 3 skip their first numbers.
    await groups[3]!.send(Buffer.of(0));
    await Promise.all(groups.map((each) => each.closed));
    const codes = await Promise.all(groups.map((each) => rejection(each.close())));
    expect(codes.some((error) => /skipped/.test(error.message))).toBe(true);
    for (const error of codes) expect(error).toMatchObject({ code: 'ERR_RDMC_PROTOCOL' });
  });

  it('a batch that overruns a ring is detected', async () => {
    const groups = await create({});
    const prototype = prototypeOfQueue();
    const { immediate } = prototype;
    let isChanged = false;
    vi.spyOn(prototype, 'immediate').mockImplementation(function change(
      this: SubmissionQueue,
      value: number,
    ) {
      const takes = !isChanged && value === 2;
      isChanged ||= takes;
      immediate.call(this, takes ? 1 << 20 : value);
    });
    await groups[1]!.send(Buffer.of(1));
    await expectCut(groups, 'ERR_RDMC_PROTOCOL', 'into a ring');
  });

  it('a write behind its row in a table is refused by the device, and that member is cut', async () => {
    const groups = await create({ delivery: 'stable' });
    readAll(groups);
    const prototype = prototypeOfQueue();
    const { sge } = prototype;
    const { rowBytes } = rowLayout(4);
    let isChanged = false;
    vi.spyOn(prototype, 'sge').mockImplementation(function longer(
      this: SubmissionQueue,
      address,
      byteLength,
      key,
    ) {
      const takes = !isChanged && byteLength === rowBytes;
      isChanged ||= takes;
      sge.call(this, address, takes ? byteLength + 64 : byteLength, key);
    });
    await groups[0]!.send(Buffer.of(1));
    const errors = await Promise.all(
      groups.map(async (each) => rejection(each.closed.then(() => each.close()))),
    );
    expect(isChanged).toBe(true);
    const codes = errors.map((error) => (error as unknown as { code: string }).code);
    expect(codes.filter((code) => code === 'ERR_RDMC_MEMBER_LOST').length).toBeGreaterThan(2);
  });
});
