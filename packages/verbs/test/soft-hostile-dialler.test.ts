import { fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Control, LocalPeer, queuePairPage, readyBit } from './support/local-peer.js';
import { connectedSides, side, until } from './support/pair.js';

const KEY = randomBytes(32);
const HUGE = 0xffff_ffff;
/** How long a barrier waits for a peer in the middle of a copy: native/soft/barriers.cc. */
const STOPPED_PEER_MS = 50;
/** More than sockets hold. */
const QUESTIONS = 100_000;

/** A hostile process that has mapped the control segment of a device. */
async function admitted(device: unknown, key: Uint8Array): Promise<LocalPeer> {
  const peer = new LocalPeer('dial', { device, proof: 'right', key: Buffer.from(key).toString('hex') });
  for (;;) if ('arena' in (await peer.next())) return peer;
}

/** Published for the first receive of a queue pair. */
function inbound(number: number, status: number, opcode: number, bytes: number): [number, number][] {
  const at = queuePairPage(number) + Control.INBOUND;
  return [
    [at, status],
    [at + 4, opcode],
    [at + 8, bytes],
    [queuePairPage(number) + Control.PRODUCED, 1],
  ];
}

describe('a peer that writes into our control segment', () => {
  it.each([
    ['more bytes than the receive has room for', 0, 128, HUGE],
    ['an invalid operation', 0, 77, 1],
    ['a WRITE longer than any message', 0, 129, HUGE],
  ])('cannot complete a receive with %s', async (_, status, opcode, bytes) => {
    const { device, domain, queue, queuePair } = await side({ device: 'soft', transport: 'shm', key: KEY });
    onTestFinished(() => device.close());
    const region = await domain.allocate(4096);
    queuePair.postReceive({ id: 5, sges: [region.sge(0, 64)] });
    const peer = await admitted(queuePair.address.device, KEY);
    await peer.write(...inbound(queuePair.number, status, opcode, bytes));
    queuePair.modifyToError();
    const [completion] = await until('a completion', () => {
      const found = queue.poll();
      return found.length > 0 ? found : undefined;
    });
    expect(completion).toMatchObject({ id: 5, status: 'GENERAL_ERROR', byteLength: 0 });
  });

  it('cannot complete more receives than were posted', async () => {
    const { device, domain, queue, queuePair } = await side({ device: 'soft', transport: 'shm', key: KEY });
    onTestFinished(() => device.close());
    const region = await domain.allocate(4096);
    queuePair.postReceive({ id: 5, sges: [region.sge(0, 64)] });
    const peer = await admitted(queuePair.address.device, KEY);
    await peer.write(
      ...inbound(queuePair.number, 0, 128, 1),
      [queuePairPage(queuePair.number) + Control.PRODUCED, 3],
      readyBit(0, queuePair.number),
    );
    const completions = await until('a completion', () => {
      const found = queue.poll();
      return found.length > 0 ? found : undefined;
    });
    expect(completions).toMatchObject([{ id: 5, status: 'SUCCESS', byteLength: 1 }]);
  });

  it('affects neither receiving over TCP nor closing', async () => {
    const victim = fork(fileURLToPath(new URL('fixtures/tcp-victim.mjs', import.meta.url)), [
      KEY.toString('hex'),
    ]);
    const ended = once(victim, 'exit');
    const [{ device, numbers }] = (await once(victim, 'message')) as [{ device: string; numbers: number[] }];
    const peer = await admitted(device, KEY);
    for (const number of numbers) {
      const page = queuePairPage(number);
      await peer.write([page + Control.RECEIVE_DEPTH, 0]);
    }
    // The list of held mutexes once lay behind the liveness word.
    await peer.write(
      ...Array.from({ length: 16 }, (_, i) => [Control.LIVENESS + 4 * i, 0x4141_4141] as const),
    );
    victim.send({});
    const [outcome] = (await Promise.race([once(victim, 'message'), ended])) as [unknown];
    expect(outcome).toEqual({ status: 'SUCCESS' });
    victim.send({});
    expect(await ended).toEqual([0, null]);
  });

  it('and stays in the middle of a copy, in an invalid region, does not block us', async () => {
    // Connected: only then does breaking the queue pair wait for the peer.
    const [{ device, queuePair }, other] = await connectedSides({
      device: 'soft',
      transport: 'shm',
      key: KEY,
    });
    onTestFinished(async () => {
      await device.close();
      await other.device.close();
    });
    const peer = await admitted(queuePair.address.device, KEY);
    const page = queuePairPage(queuePair.number);
    await peer.write([page + Control.BUSY_REGION, HUGE], [page + Control.BUSY, 1]);
    const begin = performance.now();
    queuePair.modifyToError();
    expect(performance.now() - begin).toBeGreaterThan(STOPPED_PEER_MS - 1);
    expect(queuePair.state).toBe('ERROR');
  });

  it('and requests without reading the answers is not served until it reads them', async () => {
    const { device, queuePair } = await side({ device: 'soft', transport: 'shm', key: KEY });
    onTestFinished(() => device.close());
    const peer = await admitted(queuePair.address.device, KEY);
    const { asked } = (await peer.order({ ask: QUESTIONS })) as { asked: number };
    expect(asked).toBeLessThan(QUESTIONS);
    expect(await peer.next()).toEqual({ answered: asked });
  });
});

describe('a region that gets fresh memory under a stopped initiator', () => {
  it("keeps stores of this process' threads meanwhile", async () => {
    const { device, domain, queuePair } = await side({ device: 'soft', transport: 'shm', key: KEY });
    onTestFinished(() => device.close());
    const region = await domain.allocate(64 << 20, { remoteWrite: true });
    region.view().fill(0);
    const peer = await admitted(queuePair.address.device, KEY);
    const page = queuePairPage(queuePair.number);
    await peer.write([page + Control.BUSY_REGION, region.lkey & 16_383], [page + Control.BUSY, 1]);
    const control = new Int32Array(new SharedArrayBuffer(8));
    const writer = new Worker(new URL('fixtures/storing-worker.mjs', import.meta.url), {
      workerData: { device: device.handle, region: region.handle, control },
    });
    await until('the writer to store', () => (Atomics.load(control, 0) > 0 ? true : undefined));
    region.revoke();
    Atomics.store(control, 1, 1);
    const [{ stores, lost }] = (await once(writer, 'message')) as [{ stores: number; lost: number }];
    expect(stores).toBeGreaterThan(0);
    expect(lost).toBe(0);
    await writer.terminate();
  });
});
