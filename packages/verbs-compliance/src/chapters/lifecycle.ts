import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { failsWith, range } from '../rig/expect.js';
import { connected, joinEnds, type Peer } from '../rig/peer.js';
import type { SuiteContext } from '../suite-context.js';
import { waitFor } from '../wait.js';

const MIB = 1_048_576;
const EXIT_CODE = 17;

/** The files in /dev/shm that one of the peers has open or mapped. Other processes have files of their own there. */
async function sharedFilesOf(...peers: readonly Peer[]): Promise<string[]> {
  const all = await Promise.all(peers.map((peer) => peer.call('holdings', undefined)));
  return all.flatMap(({ sharedFiles }) => sharedFiles);
}

function expectRemoved(files: readonly string[], before: readonly string[]): void {
  const left = files.filter((path) => !before.includes(path) && existsSync(path));
  assert.deepEqual(left, []);
}

/** Everything open and busy: connections both ways, receives posted, WRITEs in flight, a queue armed. */
async function busy(a: Peer, victim: Peer): Promise<void> {
  const channel = await victim.call('createChannel', { device: victim.device });
  const [near, far] = await connected(a, victim, {}, { channel });
  const [mine, theirs] = await Promise.all([a.region(8 * MIB), victim.region(8 * MIB)]);
  await Promise.all([near.receive({ id: 1 }), far.receive({ id: 1, sges: [theirs.sge()] })]);
  await victim.call('arm', { cq: far.cq });
  const there = { opcode: 'WRITE', sges: [mine.sge()], remote: theirs.remote() } as const;
  const back = { opcode: 'WRITE', sges: [theirs.sge()], remote: mine.remote() } as const;
  await far.post(...range(16).map((id) => ({ id, ...back })));
  await near.post(...range(16).map((id) => ({ id, ...there })));
}

export function lifecycle({ test, spec, startPeer, sourceOfB }: SuiteContext): void {
  test('an unknown option throws in every call with options', {}, async (a, b) => {
    const [near] = await connected(a, b);
    const misspelt = { device: a.device, pd: await a.pd(), qp: near.qp, options: { retrys: 1 } };
    const codes = await a.call('misspeltOptions', misspelt);
    assert.deepEqual(
      codes,
      codes.map(() => 'ERR_RDMC_UNKNOWN_OPTION'),
    );
  });

  test('option values out of range: ERR_RDMC_INVALID_OPTION', {}, async (a, b) => {
    const limits = a.attributes;
    for (const sendDepth of [0, -1, 1.5, limits.maxSendDepth + 1]) {
      await failsWith(a.end({ sendDepth }), 'ERR_RDMC_INVALID_OPTION');
    }
    for (const receiveDepth of [0, limits.maxReceiveDepth + 1]) {
      await failsWith(a.end({ receiveDepth }), 'ERR_RDMC_INVALID_OPTION');
    }
    for (const cqDepth of [0, limits.maxCompletionQueueDepth + 1]) {
      await failsWith(a.end({ cqDepth }), 'ERR_RDMC_INVALID_OPTION');
    }
    const [near, far] = await Promise.all([a.end(), b.end()]);
    for (const bad of [
      { rnrRetries: 8 },
      { rnrRetries: -1 },
      { rnrTimerMs: 0 },
      { retryTimeoutMs: 0 },
      { weight: 0 },
      { weight: 17 },
      { trafficClass: 256 },
      { serviceLevel: 16 },
    ]) {
      await failsWith(near.connect(far.address, bad), 'ERR_RDMC_INVALID_OPTION');
    }
  });

  test('the attributes agree with the feature table', {}, async (a, b) => {
    for (const { attributes } of [a, b]) {
      assert.equal(attributes.registeredMemoryIsRemote, spec.features.remoteRegisteredMemory);
      assert.equal(attributes.writeOrderUnitBytes >= 64, spec.features.writeOrder);
      assert.ok(attributes.maxSge >= 1 && attributes.maxQueuePairs >= 2);
    }
  });

  test('closing twice has the effect of closing once', {}, async (a, b) => {
    const [near] = await connected(a, b);
    const region = await a.region(64);
    const channel = await a.call('createChannel', { device: a.device });
    const pd = await a.newPd();
    const spareCq = await a.completionQueue();
    for (const handle of [near.qp, region.handle, spareCq, channel, pd]) {
      await a.call('close', { handle });
      await a.call('close', { handle });
    }
    await region.closeNow();
    assert.equal(await near.state(), 'ERROR');
  });

  test('an object in use cannot be closed', {}, async (a, b) => {
    const [near] = await connected(a, b);
    await failsWith(a.call('close', { handle: near.cq }), 'ERR_RDMC_COMPLETION_QUEUE_BUSY');
    await failsWith(a.call('close', { handle: await a.pd() }), 'ERR_RDMC_PROTECTION_DOMAIN_BUSY');
    await near.close();
    await a.call('close', { handle: near.cq });
    const region = await a.region(64);
    await failsWith(a.call('close', { handle: await a.pd() }), 'ERR_RDMC_PROTECTION_DOMAIN_BUSY');
    await region.closeNow();
    await a.call('close', { handle: await a.pd() });
  });

  test('an object can be closed right after the object that used it, fifty times', {}, async (a, b) => {
    for (const _ of range(50)) {
      const channel = await a.call('createChannel', { device: a.device });
      const pd = await a.newPd();
      const near = await a.end({ channel, pd });
      const far = await b.end();
      await joinEnds(near, far);
      await near.receive({ id: 1 });
      for (const handle of [near.qp, near.cq, channel, pd]) await a.call('close', { handle });
    }
  });

  test('a closed device refuses calls; its objects are closed with it', {}, async (_a, b) => {
    const { device } = await b.call('openDevice', sourceOfB);
    const pd = await b.call('createProtectionDomain', { device });
    const cq = await b.call('createCompletionQueue', { device });
    const { qp } = await b.call('createQueuePair', { pd, cq });
    const { region } = await b.call('allocate', { pd, byteLength: 64, access: {} });
    await b.call('close', { handle: device });
    await b.call('close', { handle: device });
    const refusal = [
      b.call('createProtectionDomain', { device }),
      b.call('createCompletionQueue', { device }),
    ];
    for (const call of refusal) await failsWith(call, 'ERR_RDMC_DEVICE_CLOSED');
    const posting = b.call('postSend', { qp, requests: [{ id: 1, opcode: 'SEND' }] });
    await failsWith(posting, 'ERR_RDMC_DEVICE_CLOSED', 'ERR_RDMC_QUEUE_PAIR_CLOSED');
    const allocating = b.call('allocate', { pd, byteLength: 64, access: {} });
    await failsWith(allocating, 'ERR_RDMC_DEVICE_CLOSED');
    for (const handle of [qp, region, cq, pd]) await b.call('close', { handle });
  });

  const attach = { needs: ['attachFromOtherThread', 'sharedProcess'] } as const;
  test('another thread attaches the device and sees its memory', attach, async (a, b) => {
    const region = await a.region(4_096);
    await region.fill(1);
    const { device } = await b.call('attachDevice', { nativeHandle: a.nativeHandle });
    const bytes = new Uint8Array(100).fill(0x5a);
    await b.call('writeAttached', { device, nativeRegion: region.nativeHandle, offset: 50, bytes });
    assert.deepEqual(await region.read(50, 100), bytes);
    await region.holds(1, 150, 1_000, 150);
    await b.call('close', { handle: device });
    await region.holds(1, 150, 1_000, 150);
    await region.fill(2);
  });

  test('a device is opened and closed many times without growing the process', {}, async (_a, b) => {
    const cycle = async (count: number): Promise<void> => {
      for (const _ of range(count)) {
        const { device } = await b.call('openDevice', sourceOfB);
        const pd = await b.call('createProtectionDomain', { device });
        const cq = await b.call('createCompletionQueue', { device });
        const ends = await Promise.all(range(2).map(() => b.call('createQueuePair', { pd, cq })));
        const connect = (i: number) => {
          return b.call('connect', { qp: ends[i]!.qp, address: ends[1 - i]!.address, options: {} });
        };
        if (spec.features.connectToSelf) await Promise.all([connect(0), connect(1)]);
        await b.call('allocate', { pd, byteLength: MIB, access: {} });
        await b.call('close', { handle: device });
      }
    };
    await cycle(3);
    const before = await b.call('holdings', undefined);
    await cycle(10);
    let now = before;
    await waitFor(
      () => `threads and descriptors as before: ${JSON.stringify({ before, now })}`,
      async () => {
        now = await b.call('holdings', undefined);
        return now.threads <= before.threads && now.descriptors <= before.descriptors + 1 ? true : undefined;
      },
    );
  });

  const exiting = { needs: ['secondProcess'] } as const;
  test('process.exit with everything open ends at once and leaves nothing behind', exiting, async (a) => {
    const before = await sharedFilesOf(a);
    const victim = await startPeer();
    await busy(a, victim);
    const files = await sharedFilesOf(a, victim);
    victim.call('exit', { code: EXIT_CODE }).catch(() => undefined);
    assert.deepEqual(await victim.link.exited, { code: EXIT_CODE, signal: null });
    expectRemoved(files, before);
  });

  test('kill -9 with everything open leaves no shared memory', exiting, async (a) => {
    const before = await sharedFilesOf(a);
    const victim = await startPeer();
    await busy(a, victim);
    const files = await sharedFilesOf(a, victim);
    await victim.link.stop();
    expectRemoved(files, before);
  });

  const terminating = { needs: ['secondThread', 'sharedProcess'] } as const;
  test('terminating a worker with everything open leaves nothing behind', terminating, async (a) => {
    const once = async (): Promise<void> => {
      const victim = await startPeer();
      await busy(a, victim);
      await victim.link.stop();
      await a.reset();
    };
    await once();
    const before = await a.call('holdings', undefined);
    for (const _ of range(3)) await once();
    let now = before;
    await waitFor(
      () => `threads and mappings as before: ${JSON.stringify({ before, now })}`,
      async () => {
        now = await a.call('holdings', undefined);
        const same = now.threads <= before.threads && now.sharedMappings <= before.sharedMappings + 2;
        return same && now.descriptors <= before.descriptors + 2 ? true : undefined;
      },
    );
  });

  test('two devices of one peer are independent', {}, async (a, b) => {
    const opened = await b.call('openDevice', sourceOfB);
    const pd = await b.call('createProtectionDomain', { device: opened.device });
    const cq = await b.call('createCompletionQueue', { device: opened.device });
    const second = await b.call('createQueuePair', { pd, cq });
    const near = await a.end();
    const address = { qp: second.qp, address: near.address, options: {} };
    await Promise.all([near.connect(second.address), b.call('connect', address)]);
    const foreign = await b.region(64);
    await foreign.fill(50);
    // A region of the first device cannot be a target for queue pairs of the second.
    await near.post({ id: 1, opcode: 'WRITE', inline: new Uint8Array(8), remote: foreign.remote() });
    await near.ends([[1, 'REMOTE_ACCESS_ERROR']]);
    await foreign.holds(50);
    const [one, other] = await Promise.all([a.end(), b.end()]);
    await joinEnds(one, other);
    await other.receive({ id: 1 });
    await one.run({ opcode: 'SEND' });
    await other.done(1);
  });

  test('objects of two devices do not work together: ERR_RDMC_INVALID_OPTION', {}, async (_a, b) => {
    const { device } = await b.call('openDevice', sourceOfB);
    const [pd, cq, foreign, channel] = await Promise.all([
      b.call('createProtectionDomain', { device }),
      b.call('createCompletionQueue', { device }),
      b.completionQueue(),
      b.call('createChannel', { device: b.device }),
    ]);
    for (const queues of [{ cq: foreign }, { cq: foreign, receiveCq: cq }, { cq, receiveCq: foreign }]) {
      await failsWith(b.call('createQueuePair', { pd, ...queues }), 'ERR_RDMC_INVALID_OPTION');
    }
    await failsWith(b.call('createCompletionQueue', { device, channel }), 'ERR_RDMC_INVALID_OPTION');
    await b.call('createQueuePair', { pd, cq });
  });
}
