import { Deferred } from '@rdmc/common';
import type { Group } from '@rdmc/group';
import { PATIENT } from '@rdmc/testing';
import { afterEach, expect, it, vi } from 'vitest';
import { MOST_REPORTED_ARRIVALS, REPORT_DELAY_MS } from '../src/constants.js';
import { ArrivalReports } from '../src/skew/arrival-reports.js';
import { clusterForAll, createEverywhere, groupIdForEach, settleMessages } from './support/cluster.js';

const MEMBERS = [0, 1, 2];
const LARGE = 200_000;
const nodes = clusterForAll(MEMBERS.length);
const next = groupIdForEach();

async function drain(group: Group): Promise<void> {
  for await (const message of group) message.release();
}

afterEach(() => {
  vi.useRealTimers();
});

it('the root knows the receivers that had a message first and last', async () => {
  const { id } = next;
  const common = { ...PATIENT, id, members: MEMBERS, algorithm: 'sequential', arrivals: true } as const;
  const place = new Deferred<void>();
  const reported = new Deferred<void>();
  const { mesh } = nodes[1]!;
  const send = mesh.send.bind(mesh);
  mesh.send = (to, topic, body) => {
    send(to, topic, body);
    if ((body as { type?: string }).type === 'arrived') reported.resolve();
  };
  const [root, one, two] = await Promise.all([
    nodes[0]!.createGroup(common),
    nodes[1]!.createGroup(common),
    nodes[2]!.createGroup({
      ...common,
      incoming: async (byteLength) => {
        await place.promise;
        return nodes[2]!.allocate(byteLength);
      },
    }),
  ]);
  const reading = Promise.all([drain(one), drain(two)]);
  const sent = root.send(new Uint8Array(LARGE));
  // Member 2 has no memory for the message until the root has the report of member 1.
  await reported.promise;
  await settleMessages(nodes);
  expect(root.skew()).toBeUndefined();
  place.resolve();
  await sent;
  await Promise.all([root, one, two].map((group) => group.close()));
  await reading;
  mesh.send = send;
  const skew = root.skew()!;
  expect(skew.recent).toMatchObject([{ message: 0, first: 1, last: 2 }]);
  expect(skew).toMatchObject({ messages: 1, mostOftenLast: 2, mostMs: skew.recent[0]!.ms });
  expect(skew.mostMs).toBeGreaterThan(0);
  expect([one.skew(), two.skew()]).toEqual([undefined, undefined]);
});

it('has every message of blocks after close, and no small one', async () => {
  const groups = await createEverywhere(nodes, { id: next.id, members: MEMBERS, arrivals: true });
  const reading = Promise.all(groups.slice(1).map(drain));
  for (const byteLength of [LARGE, 100, LARGE, 100, LARGE]) await groups[0]!.send(new Uint8Array(byteLength));
  await Promise.all(groups.map((group) => group.close()));
  await reading;
  expect(groups[0]!.skew()!.recent.map(({ message }) => message)).toEqual([0, 2, 4]);
});

it('is undefined without the option', async () => {
  const groups = await createEverywhere(nodes, { id: next.id, members: MEMBERS });
  const reading = Promise.all(groups.slice(1).map(drain));
  await groups[0]!.send(new Uint8Array(LARGE));
  await Promise.all(groups.map((group) => group.close()));
  await reading;
  expect(groups.map((group) => group.skew())).toEqual([undefined, undefined, undefined]);
});

it('is an option of all members or of none, and of groups with one sender', async () => {
  const common = { id: next.id, members: [0, 1] };
  const attempts = await Promise.allSettled([
    nodes[0]!.createGroup({ ...common, arrivals: true }),
    nodes[1]!.createGroup(common),
  ]);
  for (const attempt of attempts) {
    expect(attempt).toMatchObject({ reason: { code: 'ERR_RDMC_GROUP_MISMATCH', field: 'arrivals' } });
  }
  const many = nodes[0]!.createGroup({ ...common, senders: 'all', arrivals: true });
  await expect(many).rejects.toMatchObject({ code: 'ERR_RDMC_INVALID_OPTION' });
});

it('one report has the messages of some time with their ages, and at most so many', () => {
  vi.useFakeTimers();
  let now = 0;
  const sent: [number[], number[]][] = [];
  const reports = new ArrivalReports({ now: () => now, send: (...report) => sent.push(report) });
  reports.arrived(3);
  now = 2;
  reports.arrived(4);
  vi.advanceTimersByTime(REPORT_DELAY_MS - 1);
  expect(sent).toEqual([]);
  now = 10;
  vi.advanceTimersByTime(1);
  expect(sent).toEqual([
    [
      [3, 4],
      [10_000, 8000],
    ],
  ]);
  for (let message = 5; message < 5 + MOST_REPORTED_ARRIVALS; message += 1) reports.arrived(message);
  expect(sent[1]![0]).toHaveLength(MOST_REPORTED_ARRIVALS);
  reports.flush();
  vi.advanceTimersByTime(2 * REPORT_DELAY_MS);
  expect(sent).toHaveLength(2);
});
