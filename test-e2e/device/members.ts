import assert from 'node:assert/strict';
import { Cluster } from '../src/cluster.js';
import type { Closed, Outcome } from '../src/member-types.js';
import { patient } from '../src/patience.js';
import { expectOrderedAndExact, expectWell } from '../src/proof.js';
import { deviceOf } from './devices.js';

const CALL_MS = 60_000;
/**
 * Long enough for a machine that is busy and not for one that lost a packet to sleep: a lost one is sent again after a
 * seventh of it.
 */
export const RETRY_MS = 4_000;

/** Member i in a process of its own on device i, on an emulated machine silent for as long as that takes. */
export function startMembers(n: number): Promise<Cluster> {
  const ids = Array.from({ length: n }, (_, id) => id);
  const of = Object.fromEntries(ids.map((id) => [id, { device: deviceOf(id) }]));
  return Cluster.start(n, { of, node: { silenceTimeoutMs: patient(10_000), timeoutMs: patient(30_000) } });
}

export interface Transfer {
  readonly group: number;
  /** The root first. */
  readonly ids: readonly number[];
  readonly sizes: readonly number[];
  readonly options?: object;
}

/** One group from its creation to its close: a message of each size, each compared byte for byte, in order. */
export async function transfer(cluster: Cluster, { group, ids, sizes, options }: Transfer): Promise<void> {
  const content = { seed: 100 * group, variants: 1 };
  await cluster.createGroup(group, ids, {
    expect: content,
    retryTimeoutMs: RETRY_MS,
    timeoutMs: patient(30_000),
    ...options,
  });
  const [root, ...receivers] = ids.map((id) => cluster.at(id));
  for (const byteLength of sizes) {
    expectWell(await root!.call<Outcome[]>('send', { group, byteLength, ...content }, CALL_MS));
  }
  const closes = ids.map((id) => cluster.at(id).call<Closed>('close', { group }, CALL_MS));
  expectWell(await Promise.all(closes));
  for (const receiver of receivers) {
    await receiver.event('end', (event) => event.group === group && event.error === null, CALL_MS);
    assert.equal(expectOrderedAndExact(receiver, group), sizes.length);
    const got = receiver.messages(group).map(({ byteLength }) => byteLength);
    assert.deepEqual(got, sizes, `sizes at member ${receiver.id}`);
  }
}
