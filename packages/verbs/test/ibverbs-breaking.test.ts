import { spawnSync } from 'node:child_process';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  type CompletionQueue,
  openDevice,
  type QueuePair,
  remoteKey,
  type SharedReceiveQueue,
} from '../src/index.js';
import { linkProgram } from './native/variant.mjs';
import { FakeMachine, type FakeSettings, fakeLibrary, useFake } from './support/fake-library.js';
import { completions, connectedSides, type Side, side, until } from './support/pair.js';

/** Of enum ibv_event_type. */
const CQ_ERR = 0;

const revoking = fakeLibrary.missing
  ? undefined
  : await linkProgram('ibv-revoke', 'ibv-revoke', { ibverbs: true });
const lacking = revoking ? '' : '[skipped: the addon was not built here: npx turbo run native]';

let machine: FakeMachine;
const restore: (() => void)[] = [];
beforeEach(() => {
  machine = new FakeMachine('fake0');
});
afterEach(() => {
  for (const undo of restore.splice(0).reverse()) undo();
});
function fake(settings: FakeSettings = {}): void {
  restore.push(useFake({ FOLDER: machine.folder, ...settings }));
}

interface Shared {
  readonly a: Side;
  readonly b: Side;
  readonly shared: SharedReceiveQueue;
  readonly end: QueuePair;
  readonly sender: QueuePair;
}

/** A sender, and a receiver of it with a shared receive queue of that depth. */
async function withShared(depth: number): Promise<Shared> {
  const [a, b] = [await side({ device: 'fake0' }), await side({ device: 'fake0' })];
  const shared = b.domain.createSharedReceiveQueue({ depth });
  const queues = { sendQueue: b.queue, receiveQueue: b.queue, sharedReceiveQueue: shared };
  const end = b.domain.createQueuePair(queues);
  const sender = a.domain.createQueuePair({ sendQueue: a.queue, receiveQueue: a.queue });
  await Promise.all([sender.connect(end.address), end.connect(sender.address)]);
  return { a, b, shared, end, sender };
}

const ends = async (queue: CompletionQueue, count: number) =>
  (await completions(queue, count)).map(({ id, status }) => [id, status]);

describe.skipIf(fakeLibrary.missing)(`a queue pair of a shared receive queue ${fakeLibrary.missing}`, () => {
  it('frees the slots of unpolled messages, if the driver drops these with it', async () => {
    fake();
    const { a, b, shared, end, sender } = await withShared(2);
    shared.postReceive({ id: 1 }, { id: 2 });
    sender.postSend({ id: 3, opcode: 'SEND' }, { id: 4, opcode: 'SEND' });
    await completions(a.queue, 2);
    await end.close();
    shared.postReceive({ id: 5 }, { id: 6 });
    await Promise.all([a.device.close(), b.device.close()]);
  });

  it('its error state is a barrier if the device does not report the end of processing', async () => {
    fake({ RXE: '1' });
    const { a, b, shared, end, sender } = await withShared(2);
    shared.postReceive({ id: 1 });
    end.modifyToError();
    // The queue pair is gone: the sender gets no answer, and the receive stays for other queue pairs.
    sender.postSend({ id: 2, opcode: 'SEND' });
    expect((await completions(a.queue, 1))[0]!.status).not.toBe('SUCCESS');
    end.postSend({ id: 7, opcode: 'SEND' });
    expect(await ends(b.queue, 1)).toEqual([[7, 'WORK_REQUEST_FLUSHED']]);
    await end.close();
    await Promise.all([a.device.close(), b.device.close()]);
  });

  it('is broken by a receive that fails, so that a later send ends', async () => {
    fake();
    const { a, b, shared, end, sender } = await withShared(2);
    shared.postReceive({ id: 1 });
    sender.postSend({ id: 2, opcode: 'SEND', inline: new Uint8Array(8) });
    expect(await ends(b.queue, 1)).toEqual([[1, 'LOCAL_LENGTH_ERROR']]);
    end.postSend({ id: 3, opcode: 'SEND' });
    expect(await ends(b.queue, 1)).toEqual([[3, 'WORK_REQUEST_FLUSHED']]);
    await Promise.all([a.device.close(), b.device.close()]);
  });

  it('its depth counts once in a completion queue, for any number of queue pairs', async () => {
    fake({ LIMITS: 'cqe=150,resize=0' });
    const device = await openDevice({ device: 'fake0' });
    const domain = device.allocateProtectionDomain();
    const queue = device.createCompletionQueue({ depth: 150 });
    const sharedReceiveQueue = domain.createSharedReceiveQueue({ depth: 100 });
    const options = { sendQueue: queue, receiveQueue: queue, sendDepth: 10, sharedReceiveQueue };
    const all = Array.from({ length: 5 }, () => domain.createQueuePair(options));
    expect(() => domain.createQueuePair(options)).toThrow(
      expect.objectContaining({ code: 'ERR_RDMC_DEVICE_LIMIT' }),
    );
    for (const one of all) await one.close();
    // All of it is freed exactly once.
    const whole = { sendQueue: queue, receiveQueue: queue, sendDepth: 75, receiveDepth: 74 };
    await domain.createQueuePair(whole).close();
    await device.close();
  });
});

describe.skipIf(fakeLibrary.missing)(`the error state ${fakeLibrary.missing}`, () => {
  it('is a barrier if the driver refuses receives in it, and requests are flushed nevertheless', async () => {
    fake({ LIMITS: 'late=0' });
    const [a, b] = await connectedSides({ device: 'fake0' });
    b.queuePair.postReceive({ id: 1 }, { id: 2 });
    b.queuePair.modifyToError();
    expect(await ends(b.queue, 2)).toEqual([
      [1, 'WORK_REQUEST_FLUSHED'],
      [2, 'WORK_REQUEST_FLUSHED'],
    ]);
    b.queuePair.postReceive({ id: 3 });
    b.queuePair.postSend({ id: 4, opcode: 'SEND' });
    expect((await ends(b.queue, 2)).sort()).toEqual([
      [3, 'WORK_REQUEST_FLUSHED'],
      [4, 'WORK_REQUEST_FLUSHED'],
    ]);
    a.queuePair.postSend({ id: 5, opcode: 'SEND' });
    expect((await completions(a.queue, 1))[0]!.status).not.toBe('SUCCESS');
    await Promise.all([a.device.close(), b.device.close()]);
  });

  it('a failed send wakes a wait for solicited completions, on rxe as well', async () => {
    fake({ RXE: '1' });
    const a = await side({ device: 'fake0' });
    const b = await side({ device: 'fake0' });
    const channel = a.device.createCompletionChannel();
    const queue = a.device.createCompletionQueue({ channel });
    const sender = a.domain.createQueuePair({ sendQueue: queue, receiveQueue: queue });
    await Promise.all([sender.connect(b.queuePair.address), b.queuePair.connect(sender.address)]);
    let woken = false;
    channel.onEvent(() => {
      woken = true;
    });
    queue.arm({ solicitedOnly: true });
    sender.postSend({
      id: 1,
      opcode: 'WRITE',
      inline: new Uint8Array(8),
      remote: { address: 64, rkey: remoteKey(1) },
    });
    await until('a wake-up', () => (woken ? true : undefined));
    expect((await completions(queue, 1))[0]!.status).toBe('REMOTE_ACCESS_ERROR');
    await Promise.all([a.device.close(), b.device.close()]);
  });

  it('a completion queue that fails flushes its queue pairs, and wakes', async () => {
    fake();
    const { device, domain } = await side({ device: 'fake0' });
    const channel = device.createCompletionChannel();
    const queue = device.createCompletionQueue({ channel });
    const queues = { sendQueue: queue, receiveQueue: queue };
    const queuePair = domain.createQueuePair(queues);
    queuePair.postReceive({ id: 1 }, { id: 2 });
    let woken = false;
    channel.onEvent(() => {
      woken = true;
    });
    queue.arm();
    const types: string[] = [];
    device.onEvent(({ type }) => types.push(type));
    machine.raise('fake0', CQ_ERR, queuePair.queryAttributes().hardwareNumber as number);
    await until('the event', () => types[0]);
    expect(types).toEqual(['completionQueueError']);
    await until('a wake-up', () => (woken ? true : undefined));
    expect(await ends(queue, 2)).toEqual([
      [1, 'FATAL'],
      [2, 'WORK_REQUEST_FLUSHED'],
    ]);
    expect(queuePair.state).toBe('ERROR');
    expect(() => domain.createQueuePair(queues)).toThrow(
      expect.objectContaining({ code: 'ERR_RDMC_COMPLETION_QUEUE_FAILED' }),
    );
    await queuePair.close();
    await queue.close();
    await device.close();
  });
});

describe.skipIf(fakeLibrary.missing)(`memory that the driver keeps ${fakeLibrary.missing}`, () => {
  it('is not reused: revoking and closing fail, and succeed later', async () => {
    fake();
    const { device, domain } = await side({ device: 'fake0' });
    const region = await domain.allocate(4096, { remoteWrite: true });
    restore.push(useFake({ LIMITS: 'dereg=2' }));
    const busy = expect.objectContaining({ code: 'ERR_RDMC_REGION_BUSY', syscall: 'ibv_dereg_mr' });
    expect(() => region.revoke()).toThrow(busy);
    await expect(region.close()).rejects.toEqual(busy);
    const other = await domain.allocate(4096);
    expect(other.address).not.toBe(region.address);
    restore.push(useFake({ LIMITS: '' }));
    region.revoke();
    await region.close();
    await other.close();
    await device.close();
  });

  it.skipIf(!revoking)(
    `a revoke while another thread closes the region does not affect the next region in its slot ${lacking}`,
    () => {
      fake();
      const run = spawnSync(revoking as string, [fakeLibrary.path, 'fake0'], { encoding: 'utf8' });
      expect(run.status ?? run.signal, run.stderr).toBe(0);
    },
  );
});

describe.skipIf(fakeLibrary.missing)(`closing while connecting ${fakeLibrary.missing}`, () => {
  it('the queue pair, then its queues and its protection domain', async () => {
    fake({ SLOW_MS: '200' });
    const [a, b] = [await side({ device: 'fake0' }), await side({ device: 'fake0' })];
    const connecting = b.queuePair.connect(a.queuePair.address).catch(() => undefined);
    await b.queuePair.close();
    await b.queue.close();
    await b.domain.close();
    await connecting;
    await Promise.all([a.device.close(), b.device.close()]);
  });

  it('the device: does not wait for the address', async () => {
    const gate = join(machine.folder, 'gate');
    writeFileSync(gate, '');
    fake({ GATE: gate });
    const [a, b] = [await side({ device: 'fake0' }), await side({ device: 'fake0' })];
    const connecting = b.queuePair.connect(a.queuePair.address);
    const failed = expect(connecting).rejects.toMatchObject({
      code: expect.stringMatching(/CLOSED|REMOVED/),
    });
    await until('the address to be asked for', () => existsSync(`${gate}.reached`) || undefined);
    await b.device.close();
    rmSync(gate);
    await failed;
    await a.device.close();
  });
});
