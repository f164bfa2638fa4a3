import { spawnSync } from 'node:child_process';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openDevice } from '../src/index.js';
import { linkProgram } from './native/variant.mjs';
import { completions, connectBoth, type Side, side } from './support/pair.js';

const program = await linkProgram('soft-link', 'soft-link');
const driver = await linkProgram('soft-driver', 'soft-driver');
const lacking = program ? '' : '[skipped: the addon was not built here: npx turbo run native]';

describe.skipIf(lacking)(`the bucket of a link, by a clock of the test ${lacking}`, () => {
  it.each([
    ['carries its rate, however late its thread wakes up', 'rate'],
    ['catches up a few milliseconds after an idle time', 'burst'],
    ['moves at least a frame, and 64 KiB where the rate allows', 'quantum'],
    ['gives its connections the same share', 'fair'],
    ['gives small messages as many turns as large ones', 'small'],
    ['gives as many turns as the weight says', 'weights'],
    ['continues with the next when a turn is not used', 'unused'],
    ['has a separate bucket for each direction', 'directions'],
  ])('%s', (_, name) => {
    const run = spawnSync(program as string, [name], { encoding: 'utf8' });
    expect(run.status ?? run.signal, run.stderr).toBe(0);
  });
});

it.skipIf(lacking)(`messages, READs, atomics, barriers and closing work over a link ${lacking}`, () => {
  const run = spawnSync(driver as string, ['link', '2'], { encoding: 'utf8' });
  expect(run.status ?? run.signal, run.stderr).toBe(0);
});

it('a device says whether weights have an effect over its network', async () => {
  const tcp = { device: 'soft', transport: 'tcp' } as const;
  for (const [options, networkWeights] of [
    [{ ...tcp, linkRate: 1e9 }, true],
    [tcp, false],
    [{ device: 'soft' }, false],
  ] as const) {
    const device = await openDevice(options);
    expect(device.attributes.networkWeights).toBe(networkWeights);
    await device.close();
  }
});

const RATE = 200e6;
const MESSAGE_BYTES = 1 << 20;
const PEERS = 3;
/** What an idle link catches up, and one turn: native/soft/tcp/link.h. */
const BURST_SECONDS = 0.01;
/** A busy machine makes a transfer longer, never shorter. */
const LEAST_SECONDS = (PEERS * MESSAGE_BYTES * 8) / RATE - BURST_SECONDS;

type Role = 'source' | 'target';

/** One shaped device, and several that are as fast as the machine, each connected to it. */
async function star() {
  const hub = await side({ device: 'soft', transport: 'tcp', linkRate: RATE });
  const peers: Side[] = [];
  const pairs = [];
  for (let i = 0; i < PEERS; i += 1) {
    const peer = await side({ device: 'soft', transport: 'tcp' });
    const queuePair = hub.domain.createQueuePair({ sendQueue: hub.queue, receiveQueue: hub.queue });
    await connectBoth(queuePair, peer.queuePair);
    peers.push(peer);
    pairs.push({ hub: { ...hub, queuePair }, peer });
  }
  onTestFinished(async () => {
    for (const { device } of [hub, ...peers]) await device.close();
  });
  return pairs;
}

async function regionOf({ domain }: Side, role: Role) {
  const region = await domain.allocate(MESSAGE_BYTES, { remoteWrite: true, remoteRead: true });
  if (role === 'source')
    for (let i = 0; i < MESSAGE_BYTES; i += 1) region.view()[i] = (i * 31 + (i >> 9)) & 0xff;
  return region;
}

/** All requests at once; returns seconds until the last one completed, after a comparison of the bytes. */
async function transfer(opcode: 'WRITE' | 'READ', initiatorOf: (pair: { hub: Side; peer: Side }) => Side) {
  const work = [];
  for (const pair of await star()) {
    const initiator = initiatorOf(pair);
    const other = initiator === pair.hub ? pair.peer : pair.hub;
    const local = await regionOf(initiator, opcode === 'WRITE' ? 'source' : 'target');
    const remote = await regionOf(other, opcode === 'WRITE' ? 'target' : 'source');
    work.push({ initiator, local, remote });
  }
  const begin = performance.now();
  for (const { initiator, local, remote } of work) {
    initiator.queuePair.postSend({ id: 1, opcode, sges: [local.sge()], remote: remote.remote() });
  }
  const queues = new Set(work.map(({ initiator }) => initiator.queue));
  for (const queue of queues) {
    const done = await completions(queue, PEERS / queues.size);
    for (const { status } of done) expect(status).toBe('SUCCESS');
  }
  const seconds = (performance.now() - begin) / 1000;
  for (const { local, remote } of work) expect(Buffer.compare(local.view(), remote.view())).toBe(0);
  return seconds;
}

describe('linkRate is the rate of the whole device', () => {
  it.each([
    ['WRITEs that it sends', 'WRITE', true],
    ['WRITEs that it receives', 'WRITE', false],
    ['READs that it answers', 'READ', false],
    ['READs that it requests', 'READ', true],
  ] as const)('%s to and from several peers share it', async (_, opcode, fromHub) => {
    const seconds = await transfer(opcode, ({ hub, peer }) => (fromHub ? hub : peer));
    expect(seconds).toBeGreaterThan(LEAST_SECONDS);
  });
});

describe('linkRate is refused', () => {
  it.each([
    ['text', { transport: 'tcp', linkRate: '400mbit' }, 'from 1000000 to 1000000000000, not 400mbit'],
    ['below a megabit per second', { transport: 'tcp', linkRate: 999_999 }, 'not 999999'],
    ['a fraction', { transport: 'tcp', linkRate: 1e6 + 0.5 }, 'must be a whole number'],
    ['infinite', { transport: 'tcp', linkRate: Number.POSITIVE_INFINITY }, 'not Infinity'],
    ['over shared memory', { transport: 'shm', linkRate: 1e9 }, "needs transport: 'tcp', not 'shm'"],
    ['where peers may use shared memory', { linkRate: 1e9 }, "needs transport: 'tcp', not 'auto'"],
    [
      'on an RDMA device',
      {
        transport: 'tcp',
        linkRate: 1e9,
        choice: { device: 'mlx5_0', kind: 'ibverbs', reason: '', isAskedFor: true, port: 1, gidIndex: 0 },
      },
      'leave it out for device mlx5_0',
    ],
  ])('%s', async (_, options, message) => {
    const wrong = options as Parameters<typeof openDevice>[0];
    await expect(openDevice(wrong)).rejects.toMatchObject({
      code: 'ERR_RDMC_INVALID_OPTION',
      message: expect.stringContaining(message),
    });
  });
});
