import assert from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Device, openDevice, type QueuePair, type SendWorkRequest } from '@rdmc/verbs';
import { patient } from '../src/patience.js';
import { deviceOf } from './devices.js';
import { RETRY_MS } from './members.js';

const COUNT = 200;
/** Atomics outstanding at once. */
const WINDOW = 8;
const WORD_BYTES = 8;
const LIMIT_MS = 60_000;

async function openSide(name: string) {
  const device = await openDevice({ device: name });
  const pd = device.allocateProtectionDomain();
  const cq = device.createCompletionQueue();
  const queuePair = pd.createQueuePair({ sendQueue: cq, receiveQueue: cq });
  const region = await pd.allocate(COUNT * WORD_BYTES, { remoteAtomic: true });
  region.view().fill(0);
  return { device, cq, queuePair, region };
}
type Request = (id: number) => Omit<SendWorkRequest, 'id' | 'sges'>;
type Side = Awaited<ReturnType<typeof openSide>>;

function connect(queuePair: QueuePair, to: QueuePair): Promise<void> {
  return queuePair.connect(to.address, { retryTimeoutMs: RETRY_MS });
}

/** COUNT requests, WINDOW at once; each must succeed. Resolves with the old values, in order of posting. */
async function run({ cq, queuePair, region }: Side, request: Request): Promise<bigint[]> {
  const end = performance.now() + patient(LIMIT_MS);
  let posted = 0;
  for (let completed = 0; completed < COUNT; ) {
    for (; posted < COUNT && posted - completed < WINDOW; posted += 1) {
      const sges = [region.sge(posted * WORD_BYTES, WORD_BYTES)];
      queuePair.postSend({ id: posted, sges, ...request(posted) });
    }
    for (const { status, id } of cq.poll()) {
      assert.equal(status, 'SUCCESS', `request ${id}`);
      completed += 1;
    }
    assert.ok(performance.now() < end, `${completed} of ${COUNT} within ${patient(LIMIT_MS)} ms`);
    await nextTurn();
  }
  const bytes = Buffer.from(region.view().slice());
  return Array.from({ length: COUNT }, (_, index) => bytes.readBigUInt64LE(index * WORD_BYTES));
}

/** An atomic whose answer was lost is sent again, and must not be executed again: each counts exactly once. */
export async function atomicsCountOnce(): Promise<void> {
  const devices: Device[] = [];
  try {
    const near = await openSide(deviceOf(0));
    devices.push(near.device);
    const far = await openSide(deviceOf(1));
    devices.push(far.device);
    await Promise.all([connect(near.queuePair, far.queuePair), connect(far.queuePair, near.queuePair)]);
    const remote = far.region.remote();
    const numbers = Array.from({ length: COUNT }, (_, index) => BigInt(index));
    const added = await run(near, () => ({ opcode: 'FETCH_AND_ADD', remote, compareOrAdd: 1n }));
    assert.deepEqual(added, numbers, 'what each addition found');
    const swapped = await run(near, (id) => {
      const operands = { compareOrAdd: BigInt(COUNT + id), swap: BigInt(COUNT + id + 1) };
      return { opcode: 'COMPARE_AND_SWAP', remote, ...operands };
    });
    const found = numbers.map((number) => number + BigInt(COUNT));
    assert.deepEqual(swapped, found, 'what each exchange found');
    assert.equal(Buffer.from(far.region.view().slice()).readBigUInt64LE(0), BigInt(2 * COUNT));
  } finally {
    for (const device of devices.reverse()) await device.close();
  }
}
