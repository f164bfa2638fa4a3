import { afterEach, describe, expect, it } from 'vitest';
import { type FakeSettings, fakeLibrary, useFake } from './support/fake-library.js';
import { completions, connectedSides, side } from './support/pair.js';

const NAME = 'fake0';
const restore: (() => void)[] = [];
afterEach(() => {
  for (const undo of restore.splice(0)) undo();
});
function fake(settings: FakeSettings = {}): void {
  restore.push(useFake(settings));
}

describe.skipIf(fakeLibrary.missing)(`an RDMA device ${fakeLibrary.missing}`, () => {
  it('returns the attributes of a queue pair, and whether data is placed in order', async () => {
    fake({ MTU: '2048' });
    const [a, b] = await connectedSides({ device: NAME, pathMtuBytes: 1024 });
    const attributes = a.queuePair.queryAttributes();
    expect(attributes).toMatchObject({
      state: 'RTS',
      peerHardwareNumber: b.queuePair.address.queuePair,
      pathMtuBytes: 1024,
      rnrRetries: 7,
      retries: 6,
    });
    expect(attributes.sendPacketNumber).toBe(a.queuePair.address.packetNumber);
    expect(attributes.receivePacketNumber).toBe(b.queuePair.address.packetNumber);
    expect(a.queuePair.queryDataInOrder()).toBe(true);
    expect(a.queuePair.transport).toBe('roce');
    await Promise.all([a.device.close(), b.device.close()]);
  });

  it('connecting does not block the event loop while an address is resolved', async () => {
    fake({ SLOW_MS: '300' });
    const [a, b] = [await side({ device: NAME }), await side({ device: NAME })];
    let turns = 0;
    const timer = setInterval(() => {
      turns += 1;
    }, 1);
    await a.queuePair.connect(b.queuePair.address);
    clearInterval(timer);
    // A connect that blocks the loop ends before any timer.
    expect(turns).toBeGreaterThan(0);
    // A pending connect does not prevent closing.
    const connecting = b.queuePair.connect(a.queuePair.address).catch(() => undefined);
    await b.queuePair.close();
    await connecting;
    await Promise.all([a.device.close(), b.device.close()]);
  });

  it('does not connect to another kind of device', async () => {
    fake();
    const [a, soft] = [await side({ device: NAME }), await side({ device: 'soft' })];
    await expect(a.queuePair.connect(soft.queuePair.address)).rejects.toMatchObject({
      code: 'ERR_RDMC_INVALID_ADDRESS',
    });
    await expect(soft.queuePair.connect(a.queuePair.address)).rejects.toMatchObject({
      code: 'ERR_RDMC_INVALID_ADDRESS',
    });
    await Promise.all([a.device.close(), soft.device.close()]);
  });

  it('registered memory is a target, with relaxed ordering if requested', async () => {
    fake();
    const [a, b] = await connectedSides({ device: NAME });
    const from = await a.domain.allocate(64);
    const memory = new Uint8Array(64);
    const to = b.domain.register(memory, { remoteWrite: true, relaxedOrdering: true });
    from.view().fill(7);
    a.queuePair.postSend({ id: 1, opcode: 'WRITE', sges: [from.sge()], remote: to.remote() });
    expect((await completions(a.queue, 1))[0]!.status).toBe('SUCCESS');
    expect(memory.every((byte) => byte === 7)).toBe(true);
    await Promise.all([a.device.close(), b.device.close()]);
  });

  it('a driver that refuses to deregister loses its queue pairs, and the memory stays revoked', async () => {
    fake({ LIMITS: 'dereg=1' });
    const [a, b] = [await side({ device: NAME }), await side({ device: NAME })];
    await b.queuePair.connect(a.queuePair.address);
    // Nobody answers the WRITE: it fails after this time.
    await a.queuePair.connect(b.queuePair.address, { retryTimeoutMs: 100 });
    const region = await b.domain.allocate(64, { remoteWrite: true });
    const remote = region.remote();
    region.revoke();
    expect(b.queuePair.state).toBe('ERROR');
    a.queuePair.postSend({ id: 1, opcode: 'WRITE', inline: new Uint8Array(8), remote });
    expect((await completions(a.queue, 1))[0]!.status).not.toBe('SUCCESS');
    await Promise.all([a.device.close(), b.device.close()]);
  });

  it('a device without atomics refuses them by name', async () => {
    fake({ LIMITS: 'atomics=0' });
    const [a, b] = await connectedSides({ device: NAME });
    expect(a.device.attributes.atomics).toBe(false);
    const [mine, theirs] = [await a.domain.allocate(8), await b.domain.allocate(8, { remoteAtomic: true })];
    const add = { id: 1, opcode: 'FETCH_AND_ADD', sges: [mine.sge()], remote: theirs.remote() } as const;
    expect(() => a.queuePair.postSend(add)).toThrow(
      expect.objectContaining({ code: 'ERR_RDMC_UNSUPPORTED' }),
    );
    await Promise.all([a.device.close(), b.device.close()]);
  });

  it('memory without host access is refused: it is another device that has such memory', async () => {
    fake();
    const { device, domain } = await side({ device: NAME });
    await expect(domain.allocate(4096, { hostAccess: false })).rejects.toMatchObject({
      code: 'ERR_RDMC_UNSUPPORTED',
    });
    await device.close();
  });

  it('a dma-buf the driver cannot register is refused with errno', async () => {
    fake();
    const { device, domain } = await side({ device: NAME });
    expect(() => domain.registerDmabuf({ fd: 0, byteLength: 4096 })).toThrow(
      expect.objectContaining({ code: 'ERR_RDMC_UNSUPPORTED', syscall: 'ibv_reg_dmabuf_mr', errno: 95 }),
    );
    await device.close();
  });
});

describe.skipIf(fakeLibrary.missing)(`a shared receive queue ${fakeLibrary.missing}`, () => {
  it('serves two queue pairs, and completions name the queue pair', async () => {
    fake();
    const [a, b] = [await side({ device: NAME }), await side({ device: NAME })];
    const shared = b.domain.createSharedReceiveQueue({ depth: 4 });
    const queues = { sendQueue: b.queue, receiveQueue: b.queue, sharedReceiveQueue: shared };
    const ends = [b.domain.createQueuePair(queues), b.domain.createQueuePair(queues)];
    const region = await b.domain.allocate(256);
    shared.postReceive(...[0, 1, 2, 3].map((i) => ({ id: i, sges: [region.sge(64 * i, 64)] })));
    expect(() => shared.postReceive({ id: 4 })).toThrow(
      expect.objectContaining({ code: 'ERR_RDMC_QUEUE_FULL' }),
    );
    expect(region.outstanding).toBe(4);
    const senders = [];
    for (const end of ends) {
      const sender = a.domain.createQueuePair({ sendQueue: a.queue, receiveQueue: a.queue });
      await Promise.all([sender.connect(end.address), end.connect(sender.address)]);
      senders.push(sender);
    }
    senders[1]!.postSend({ id: 1, opcode: 'SEND_WITH_IMM', inline: Uint8Array.of(1, 2), immediate: 9 });
    const [got] = await completions(b.queue, 1);
    expect(got).toMatchObject({ id: 0, status: 'SUCCESS', byteLength: 2, immediate: 9 });
    expect(got!.queuePair).toBe(ends[1]!.number);
    senders[0]!.postSend({ id: 2, opcode: 'SEND', inline: Uint8Array.of(3) });
    expect((await completions(b.queue, 1))[0]).toMatchObject({ id: 1, queuePair: ends[0]!.number });
    expect(region.outstanding).toBe(2);
    await expect(async () => shared.close()).rejects.toMatchObject({
      code: 'ERR_RDMC_SHARED_RECEIVE_QUEUE_BUSY',
    });
    for (const end of ends) await end.close();
    await shared.close();
    expect(region.outstanding).toBe(0);
    await Promise.all([a.device.close(), b.device.close()]);
  });

  it('keeps nothing of a receive that could not be written', async () => {
    fake();
    const { device, domain } = await side({ device: NAME });
    const shared = domain.createSharedReceiveQueue({ depth: 2 });
    const region = await domain.allocate(64);
    const tooMany = Array.from({ length: 5 }, () => region.sge(0, 8));
    expect(() => shared.postReceive({ id: 1 }, { id: 2, sges: tooMany })).toThrow(
      expect.objectContaining({ name: 'PostError', code: 'ERR_RDMC_TOO_MANY_SGES', index: 1 }),
    );
    expect(region.outstanding).toBe(0);
    // There is room for this one only if the first of the two was posted, and nothing of the second.
    shared.postReceive({ id: 3 });
    expect(() => shared.postReceive({ id: 4 })).toThrow(
      expect.objectContaining({ code: 'ERR_RDMC_QUEUE_FULL' }),
    );
    expect(region.outstanding).toBe(0);
    await device.close();
  });

  it('of another device is refused', async () => {
    fake();
    const [a, b] = [await side({ device: NAME }), await side({ device: NAME })];
    const queues = { sendQueue: a.queue, receiveQueue: a.queue };
    const [own, foreign] = [a.domain.createSharedReceiveQueue(), b.domain.createSharedReceiveQueue()];
    expect(own.number).toBe(foreign.number);
    expect(() => a.domain.createQueuePair({ ...queues, sharedReceiveQueue: foreign })).toThrow(
      expect.objectContaining({ code: 'ERR_RDMC_INVALID_OPTION' }),
    );
    await a.domain.createQueuePair({ ...queues, sharedReceiveQueue: own }).close();
    await Promise.all([a.device.close(), b.device.close()]);
  });

  it('is refused by the soft device', async () => {
    const { device, domain } = await side({ device: 'soft' });
    expect(() => domain.createSharedReceiveQueue()).toThrow(
      expect.objectContaining({ code: 'ERR_RDMC_UNSUPPORTED' }),
    );
    await device.close();
  });
});
