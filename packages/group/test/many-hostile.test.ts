import { Buffer } from 'node:buffer';
import { codeOf } from '@rdmc/common';
import type { Group, GroupOptions, RdmcNode } from '@rdmc/group';
import { PATIENT, rejection } from '@rdmc/testing';
import type { SubmissionQueue } from '@rdmc/verbs';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { rowLayout } from '../src/stable/table-layout.js';
import { clusterForAll, createEverywhere, groupIdForEach } from './support/cluster.js';

afterEach(() => vi.restoreAllMocks());

function prototypeOfQueue(nodes: readonly RdmcNode[]): SubmissionQueue {
  return Object.getPrototypeOf(nodes[0]!.device.createSubmissionQueue()) as SubmissionQueue;
}

/** In the application's thread, so that requests can be changed on their way to the device. */
describe('a member of many senders that breaks the protocol', () => {
  const nodes = clusterForAll(4, { thread: 'application' });
  const group = groupIdForEach();
  const ALL = [0, 1, 2, 3];

  function create(options: Partial<GroupOptions>): Promise<Group[]> {
    return createEverywhere(nodes, { ...group, members: ALL, senders: 'all', ...options });
  }

  /**
   * All others end with an error that names member 1, and go on in a group without it. At least one member detects the
   * violation, and the rest hear of that. With the order 'total' member 1 reads its own ring too, so it may be the first.
   */
  async function expectCut(groups: readonly Group[], reason: string): Promise<void> {
    const errors = await Promise.all(groups.map((each) => rejection(each.closed.then(() => each.close()))));
    const others = [0, 2, 3];
    for (const id of others) expect(errors[id]).toMatchObject({ memberId: 1 });
    const violations = errors.filter((error) => codeOf(error) === 'ERR_RDMC_PROTOCOL');
    for (const { message } of violations) expect(message).toContain(reason);
    expect(errors.map(({ message }) => message).join('\n')).toContain(reason);
    vi.restoreAllMocks();
    const again = await Promise.all(
      others.map((id) => nodes[id]!.createGroup({ ...PATIENT, ...group, members: others, senders: 'all' })),
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

  /** Changes a word of what member 1 writes from its ring: the first WRITE of that length. */
  async function changeWord(byteLength: number, at: number, value: number): Promise<() => Promise<void>> {
    const forged = await nodes[1]!.allocate(4);
    const { buffer, byteOffset } = forged.view(0, 4);
    new Uint32Array(buffer, byteOffset, 1)[0] = value;
    const prototype = prototypeOfQueue(nodes);
    const { sge } = prototype;
    let isChanged = false;
    vi.spyOn(prototype, 'sge').mockImplementation(function change(
      this: SubmissionQueue,
      address,
      length,
      key,
    ) {
      if (!isChanged && length === byteLength) nodes[1]!.device.copy(address + 4 * at, forged.address, 4);
      isChanged ||= length === byteLength;
      sge.call(this, address, length, key);
    });
    return () => forged.close();
  }

  it.each([
    ['a number out of sequence', 5, 'sent message 5 in place of 2', 'sender'],
    ['a number twice', 1, 'sent message 1 in place of 2', 'total'],
  ] as const)('%s is detected', async (_name, number, reason, order) => {
    const groups = await create({ order });
    readAll(groups);
    // Four entries of two units each, in one batch; the number of the third one.
    const free = await changeWord(64, 8, number);
    await groups[1]!.sendMany([0, 1, 2, 3].map((each) => Buffer.of(each)));
    await expectCut(groups, reason);
    await free();
  });

  it('numbers that are skipped beyond all others are detected', async () => {
    const groups = await create({ order: 'total', senders: [1, 3] });
    readAll(groups);
    // Member 1 skips its first number; the count of that entry.
    const free = await changeWord(8, 1, 0xf000_0000);
    await groups[3]!.send(Buffer.of(0));
    await expectCut(groups, 'skipped');
    await free();
  });

  it('a batch that overruns a ring is detected', async () => {
    const groups = await create({});
    const prototype = prototypeOfQueue(nodes);
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
    await expectCut(groups, 'into a ring');
  });
});

describe('a row that is written beyond its end', () => {
  const nodes = clusterForAll(5, { thread: 'application' });
  const ALL = [0, 1, 2, 3, 4];

  it('is refused by the device: an end of that queue pair is excluded, and the others go on', async () => {
    const options = { id: 1, members: ALL, senders: 'all', delivery: 'stable' } as const;
    const groups = await createEverywhere(nodes, options);
    const prototype = prototypeOfQueue(nodes);
    const { sge } = prototype;
    const { rowBytes } = rowLayout(ALL.length);
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
    vi.restoreAllMocks();
    const lost = errors.find((error) => 'excluded' in error && error.excluded !== undefined);
    const { excluded } = lost as unknown as { readonly excluded: readonly number[] };
    expect(excluded.length).toBeGreaterThan(0);
    const left = ALL.filter((id) => !excluded.includes(id));
    expect(left.length).toBeGreaterThan(2);
    for (const id of left) expect(errors[id]).toMatchObject({ code: 'ERR_RDMC_MEMBER_LOST', excluded });
    const again = await createEverywhere(nodes, { ...options, id: 2, members: left });
    const reader = again[1]![Symbol.asyncIterator]();
    await again[0]!.send(Buffer.of(1));
    (await reader.next()).value!.release();
    await Promise.all(again.map((each) => each.close()));
  });
});
