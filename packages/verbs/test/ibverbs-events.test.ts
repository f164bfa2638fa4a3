import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { type Device, type DeviceEvent, remoteKey } from '../src/index.js';
import { FakeMachine, fakeLibrary, useFake } from './support/fake-library.js';
import { completions, type Side, side, until } from './support/pair.js';

/** Of enum ibv_event_type. */
const [QP_ACCESS_ERR, DEVICE_FATAL, PORT_ERR, GID_CHANGE] = [3, 8, 10, 18];

/** So long that no request fails by it while a test lasts. */
const NEVER_MS = 600_000;
/** So long that no wait ends by it that should end at once. */
const LIMIT_MS = 20_000;
/** For a request that is to fail by it. */
const RETRY_MS = 1_000;
/** A WRITE without bytes does not need a key. */
const EMPTY_WRITE = { opcode: 'WRITE', remote: { address: 0, rkey: remoteKey(0) } } as const;

let machine: FakeMachine;
let restore: () => void;
beforeEach(() => {
  machine = new FakeMachine('fake0', 'fake1');
  restore = useFake({ DEVICES: 'fake0,fake1', FOLDER: machine.folder });
});
afterEach(() => {
  restore();
});

function listenTo(device: Device): DeviceEvent[] {
  const events: DeviceEvent[] = [];
  device.onEvent((event) => events.push(event));
  return events;
}

const first = (events: DeviceEvent[]): Promise<DeviceEvent> => until('an event', () => events[0]);

describe.skipIf(fakeLibrary.missing)(`asynchronous events ${fakeLibrary.missing}`, () => {
  it.each([
    ['portDown', PORT_ERR],
    ['addressChange', GID_CHANGE],
  ])('%s has its port', async (type, number) => {
    const { device } = await side({ device: 'fake0' });
    const events = listenTo(device);
    machine.raise('fake0', number, 1);
    expect(await first(events)).toMatchObject({ type, port: 1, message: expect.stringContaining('fake0') });
    await device.close();
  });

  it('a queue pair that fails is named, and in the error state', async () => {
    const { device, queuePair } = await side({ device: 'fake0' });
    const events = listenTo(device);
    machine.raise('fake0', QP_ACCESS_ERR, queuePair.queryAttributes().hardwareNumber as number);
    expect(await first(events)).toMatchObject({ type: 'queuePairFatal', queuePair: queuePair.number });
    expect(queuePair.state).toBe('ERROR');
    await device.close();
  });

  it('every listener gets events until it is closed', async () => {
    const { device } = await side({ device: 'fake0' });
    const [one, two] = [listenTo(device), [] as DeviceEvent[]];
    const listener = device.onEvent((event) => two.push(event));
    machine.raise('fake0', PORT_ERR, 1);
    await Promise.all([first(one), first(two)]);
    listener.close();
    machine.raise('fake0', PORT_ERR, 1);
    await until('the second event', () => one[1]);
    expect(two).toHaveLength(1);
    await device.close();
  });
});

describe.skipIf(fakeLibrary.missing)(`removal of a device in use ${fakeLibrary.missing}`, () => {
  const ways: readonly [string, () => void][] = [
    ['that it reports', () => machine.raise('fake0', DEVICE_FATAL, 0)],
    ['that only sysfs shows', () => machine.remove('fake0')],
  ];

  it.each(ways)('%s flushes outstanding requests and wakes sleeping threads', async (_title, remove) => {
    const a = await side({ device: 'fake0' });
    const channel = a.device.createCompletionChannel();
    const queue = a.device.createCompletionQueue({ channel });
    const queuePair = a.domain.createQueuePair({ sendQueue: queue, receiveQueue: queue });
    const b = await side({ device: 'fake1' });
    await Promise.all([queuePair.connect(b.queuePair.address), b.queuePair.connect(queuePair.address)]);
    const region = await a.domain.allocate(4096);
    queuePair.postReceive({ id: 1, sges: [region.sge()] }, { id: 2 });
    queuePair.postSend({ id: 10, opcode: 'SEND', sges: [region.sge()] }, { id: 11, opcode: 'SEND' });
    let woken = false;
    channel.onEvent(() => {
      woken = true;
    });
    queue.arm();
    const events = listenTo(a.device);
    remove();
    expect(await first(events)).toMatchObject({ type: 'deviceRemoved' });
    await until('a wake-up', () => (woken ? true : undefined));
    const ended = (await completions(queue, 4)).map(({ id, status }) => [id, status]);
    expect(ended).toEqual([
      [10, 'FATAL'],
      [11, 'WORK_REQUEST_FLUSHED'],
      [1, 'WORK_REQUEST_FLUSHED'],
      [2, 'WORK_REQUEST_FLUSHED'],
    ]);
    const start = performance.now();
    for (let waits = 0; waits < 3; waits += 1) expect(queue.waitBatch(LIMIT_MS)).toBe(0);
    expect(performance.now() - start).toBeLessThan(LIMIT_MS);
    expect(queuePair.state).toBe('ERROR');
    expect(() => queuePair.postSend({ id: 3, opcode: 'SEND' })).toThrow(
      expect.objectContaining({ code: 'ERR_RDMC_DEVICE_REMOVED' }),
    );
    await expect(a.domain.allocate(64)).rejects.toMatchObject({ code: 'ERR_RDMC_DEVICE_REMOVED' });
    // Everything can still be closed, in every order that was allowed before.
    await region.close();
    await queuePair.close();
    await a.queuePair.close();
    await queue.close();
    await channel.close();
    await a.queue.close();
    await a.domain.close();
    await Promise.all([a.device.close(), b.device.close()]);
  });
});

describe.skipIf(fakeLibrary.missing)(`a port that goes down ${fakeLibrary.missing}`, () => {
  /** Sends are outstanding that were posted before the port went down; one more is posted behind them and cannot be sent. */
  async function underWay(rxe: boolean): Promise<Side> {
    restore();
    restore = useFake({ DEVICES: 'fake0,fake1', FOLDER: machine.folder, RXE: rxe ? '1' : '0' });
    const a = await side({ device: 'fake0' });
    const b = await side({ device: 'fake1' });
    const options = { retryTimeoutMs: rxe ? NEVER_MS : RETRY_MS };
    await Promise.all([
      a.queuePair.connect(b.queuePair.address, options),
      b.queuePair.connect(a.queuePair.address, options),
    ]);
    onTestFinished(async () => void (await Promise.all([a.device.close(), b.device.close()])));
    a.queuePair.postSend({ id: 1, ...EMPTY_WRITE });
    await completions(a.queue, 1);
    machine.setLink('fake1', 'cut');
    // An event of the same device is read after that: then the link is cut.
    await raised(b.device, 'fake1', GID_CHANGE);
    a.queuePair.postSend({ id: 2, ...EMPTY_WRITE });
    machine.setLink('fake0', 'down');
    await raised(a.device, 'fake0', GID_CHANGE);
    a.queuePair.postSend({ id: 3, ...EMPTY_WRITE });
    return a;
  }

  async function raised(device: Device, name: string, event: number): Promise<void> {
    const events = listenTo(device);
    machine.raise(name, event, 1);
    await first(events);
  }

  const ends = async ({ queue }: Side, count: number) =>
    (await completions(queue, count)).map(({ id, status }) => [id, status]);

  it('flushes outstanding requests that the device would never complete (rdma_rxe of Linux 6.1)', async () => {
    const a = await underWay(true);
    machine.raise('fake0', PORT_ERR, 1);
    expect(await ends(a, 2)).toEqual([
      [2, 'WORK_REQUEST_FLUSHED'],
      [3, 'WORK_REQUEST_FLUSHED'],
    ]);
    expect(a.queuePair.state).toBe('ERROR');
  });

  it('does not flush on other devices, which report RETRY_EXCEEDED', async () => {
    const a = await underWay(false);
    machine.raise('fake0', PORT_ERR, 1);
    expect(await ends(a, 2)).toEqual([
      [2, 'RETRY_EXCEEDED'],
      [3, 'WORK_REQUEST_FLUSHED'],
    ]);
  });
});
