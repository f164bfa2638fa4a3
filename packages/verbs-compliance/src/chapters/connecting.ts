import assert from 'node:assert/strict';
import { type QueuePairAddress, remoteKey } from '@rdmc/verbs';
import type { End } from '../rig/end.js';
import { failsWith, range } from '../rig/expect.js';
import { connected, joinEnds } from '../rig/peer.js';
import type { SuiteContext } from '../suite-context.js';
import { LONG_MS } from '../wait.js';

/** For tests that accept a failure of connecting, or of later requests. */
const RETRY_MS = 200;
/** For tests in which connecting must succeed: longer than a busy machine delays the peer's process. */
const LONG_RETRY_MS = 5_000;
/** For a request that is posted before its peer connects. */
const BEFORE_PEER = { retryTimeoutMs: 20_000 };

export function connecting({ test, startPeer, sourceOfB }: SuiteContext): void {
  test('an address survives JSON, and either side may connect first', { bothWays: true }, async (a, b) => {
    const [near, far] = await Promise.all([a.end(), b.end()]);
    await near.connect(JSON.parse(JSON.stringify(far.address)) as QueuePairAddress, BEFORE_PEER);
    assert.equal(await near.state(), 'RTS');
    await near.post({ id: 1, opcode: 'SEND' });
    await far.receive({ id: 2 });
    await far.connect(JSON.parse(JSON.stringify(near.address)) as QueuePairAddress);
    await Promise.all([near.done(1), far.done(2)]);
  });

  test('a peer that never connects: RETRY_EXCEEDED after retryTimeoutMs', {}, async (a, b) => {
    const [near, far] = await Promise.all([a.end(), b.end()]);
    await near.connect(far.address, { retryTimeoutMs: LONG_RETRY_MS });
    const posted = performance.now();
    await near.post({ id: 1, opcode: 'SEND' }, { id: 2, opcode: 'SEND' });
    await near.ends([
      [1, 'RETRY_EXCEEDED'],
      [2, 'WORK_REQUEST_FLUSHED'],
    ]);
    const waited = performance.now() - posted;
    assert.ok(waited >= LONG_RETRY_MS / 2, `it gave up after ${waited} ms`);
  });

  const many = { needs: ['secondProcess', 'connectFindsPeer'], timeoutMs: LONG_MS } as const;
  test(
    'more connects than fit into the socket of a stopped peer all succeed when it continues',
    many,
    async (a) => {
      const peer = await startPeer();
      const count = Math.min(400, a.attributes.maxQueuePairs - 1);
      const cq = await a.completionQueue();
      const theirCq = await peer.completionQueue();
      const pairs: [End, End][] = [];
      for (const _ of range(count)) pairs.push([await a.end({ cq }), await peer.end({ cq: theirCq })]);
      await joinEnds(...pairs[0]!);
      const left = await startPeer();
      const { address: stale } = await left.end();
      await left.link.stop();
      process.kill(peer.link.pid!, 'SIGSTOP');
      const patient = { retryTimeoutMs: 50_000 };
      const connects = pairs.slice(1).map(([near, far]) => near.connect(far.address, patient));
      // A device executes connects in order: when this one has failed, all have been tried.
      const last = await a.end({ cq });
      await failsWith(last.connect(stale, { retryTimeoutMs: RETRY_MS }), 'ERR_RDMC_CONNECT_FAILED');
      process.kill(peer.link.pid!, 'SIGCONT');
      await Promise.all(connects);
      const [near, far] = pairs.at(-1)!;
      await far.connect(near.address, patient);
      await far.receive({ id: 1 });
      await near.run({ opcode: 'SEND' });
      await far.done(1);
    },
  );

  test('garbage for an address: ERR_RDMC_INVALID_ADDRESS', {}, async (a, b) => {
    const end = await b.end();
    const good = end.address;
    const without = (field: string): unknown => {
      return Object.fromEntries(Object.entries(good).filter(([name]) => name !== field));
    };
    const garbage: unknown[] = [
      undefined,
      null,
      7,
      'address',
      {},
      [],
      { ...good, kind: 'telegraph' },
      { ...good, queuePair: -1 },
      { ...good, queuePair: 'one' },
      { ...good, queuePair: 1.5 },
      without('kind'),
      without('version'),
      without('queuePair'),
    ];
    for (const address of garbage) {
      const near = await a.end();
      await failsWith(near.connect(address as QueuePairAddress), 'ERR_RDMC_INVALID_ADDRESS');
      assert.equal(await near.state(), 'INIT', 'it can still be connected');
      await near.close();
    }
  });

  test(
    'each field of an address, corrupted one by one, gives a code or a failed request',
    {},
    async (a, b) => {
      const end = await b.end();
      const codes = ['ERR_RDMC_INVALID_ADDRESS', 'ERR_RDMC_CONNECT_FAILED', 'ERR_RDMC_PROTOCOL_VERSION'];
      for (const [field, value] of Object.entries(end.address)) {
        const spoilt = typeof value === 'number' ? value + 40_000 : `${value}x`;
        const near = await a.end();
        const connecting = near.connect({ ...end.address, [field]: spoilt }, { retryTimeoutMs: RETRY_MS });
        const outcome = await connecting.then(
          async () => {
            await near.post({ id: 1, opcode: 'SEND' });
            return (await near.poll(1))[0]!.status;
          },
          (error: { code?: string }) => error.code,
        );
        const clear = [...codes, 'RETRY_EXCEEDED'].includes(String(outcome));
        assert.ok(clear, `spoilt ${field}: ${outcome}`);
        await near.close();
      }
    },
  );

  test('an address of another version: ERR_RDMC_PROTOCOL_VERSION or another code', {}, async (a, b) => {
    const [near, far] = await Promise.all([a.end(), b.end()]);
    const address = { ...far.address, version: far.address.version + 1 };
    await failsWith(near.connect(address), 'ERR_RDMC_PROTOCOL_VERSION', 'ERR_RDMC_INVALID_ADDRESS');
  });

  const finds = { needs: ['connectFindsPeer'] } as const;
  test('the address of a closed device: ERR_RDMC_CONNECT_FAILED', finds, async (a) => {
    const leaver = await startPeer();
    const [near, far] = await Promise.all([a.end(), leaver.end()]);
    await leaver.reset();
    await leaver.call('close', { handle: leaver.device });
    await failsWith(near.connect(far.address, { retryTimeoutMs: RETRY_MS }), 'ERR_RDMC_CONNECT_FAILED');
  });

  test('a queue pair that was closed: no request succeeds', {}, async (a, b) => {
    const [near, far] = await Promise.all([a.end(), b.end()]);
    await far.close();
    const outcome = await near.connect(far.address, { retryTimeoutMs: RETRY_MS }).then(
      async () => {
        await near.post({ id: 1, opcode: 'SEND' });
        return (await near.poll(1))[0]!.status;
      },
      (error: { code?: string }) => error.code,
    );
    assert.ok(outcome === 'ERR_RDMC_CONNECT_FAILED' || outcome === 'RETRY_EXCEEDED', String(outcome));
  });

  test('a queue pair can be connected only once', {}, async (a, b) => {
    const [near, far] = await connected(a, b);
    const third = await b.end();
    await failsWith(near.connect(third.address), 'ERR_RDMC_QUEUE_PAIR_STATE');
    await far.receive({ id: 1 });
    await near.run({ opcode: 'SEND' });
    await far.done(1);
  });

  test('a third queue pair cannot send on a connection, nor break it', {}, async (a, b) => {
    const [near, far] = await connected(a, b);
    const target = await b.region(64);
    await target.fill(50);
    const inline = new Uint8Array(8);
    const wrongKey = { ...target.remote(), rkey: remoteKey(0x7fff_fff0) };
    for (const remote of [target.remote(), wrongKey]) {
      const intruder = await a.end();
      const outcome = await intruder.connect(far.address, { retryTimeoutMs: RETRY_MS }).then(
        async () => {
          await intruder.post({ id: 1, opcode: 'WRITE', inline, remote });
          return (await intruder.poll(1))[0]!.status;
        },
        (error: { code?: string }) => error.code,
      );
      assert.ok(outcome === 'ERR_RDMC_CONNECT_FAILED' || outcome === 'RETRY_EXCEEDED', String(outcome));
      await intruder.close();
    }
    await target.holds(50);
    await far.receive({ id: 1 });
    await near.run({ opcode: 'SEND' });
    await far.done(1);
  });

  test('a device connects to itself', { needs: ['connectToSelf'], bothWays: true }, async (a) => {
    const [one, other] = await Promise.all([a.end(), a.end()]);
    await joinEnds(one, other);
    const [from, to] = await Promise.all([a.region(70_000), a.region(70_000)]);
    await Promise.all([from.fill(1), to.fill(50)]);
    await one.run({ opcode: 'WRITE', sges: [from.sge(0, 69_000)], remote: to.remote(500) });
    await to.holdsOnly(1, 500, 69_000, 50);
    await other.receive({ id: 3, sges: [to.sge(0, 100)] });
    await one.run({ opcode: 'SEND', sges: [from.sge(200, 100)] });
    await other.done(3);
    await to.holds(1, 0, 100, 200);
  });

  test('a wrong key: ERR_RDMC_WRONG_KEY', { needs: ['admissionKey'] }, async (a, b) => {
    const open = async (peer: typeof a, fill: number) => {
      const options = { ...sourceOfB.options, key: new Uint8Array(32).fill(fill) };
      const { device } = await peer.call('openDevice', { ...sourceOfB, options });
      const pd = await peer.call('createProtectionDomain', { device });
      const cq = await peer.call('createCompletionQueue', { device });
      return peer.call('createQueuePair', { pd, cq });
    };
    const [one, other] = await Promise.all([open(a, 1), open(b, 2)]);
    const call = { qp: one.qp, address: other.address, options: {} };
    await failsWith(a.call('connect', call), 'ERR_RDMC_WRONG_KEY');
    const [left, right] = await Promise.all([open(a, 3), open(b, 3)]);
    await Promise.all([
      a.call('connect', { qp: left.qp, address: right.address, options: {} }),
      b.call('connect', { qp: right.qp, address: left.address, options: {} }),
    ]);
    assert.equal(await a.call('qpState', { qp: left.qp }), 'RTS');
  });
}
