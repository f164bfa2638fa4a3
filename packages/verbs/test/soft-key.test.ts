import { randomBytes } from 'node:crypto';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type Device, type OpenDeviceOptions, openDevice } from '../src/index.js';
import { LocalPeer, type Said } from './support/local-peer.js';
import { connectedSides, PATIENT, side } from './support/pair.js';

const KEY = randomBytes(32);
const OTHER_KEY = randomBytes(32);
const REFUSED_FOR_ITS_KEY = { refused: 3, fds: 0 };
/** F_SEAL_SEAL, F_SEAL_SHRINK, F_SEAL_GROW. */
const SEALS = 1 | 2 | 4;

async function opened(options: OpenDeviceOptions): Promise<{ device: Device; id: string }> {
  const { device, queuePair, domain } = await side({ device: 'soft', ...options });
  onTestFinished(() => device.close());
  await domain.allocate(4096);
  return { device, id: String(queuePair.address.device) };
}

function dialling(device: string, proof: string, more: Record<string, unknown> = {}): LocalPeer {
  return new LocalPeer('dial', { device, proof, key: KEY.toString('hex'), ...more });
}

/** Messages of a process until it was admitted or refused. */
async function greeting(peer: LocalPeer): Promise<Said[]> {
  const all: Said[] = [];
  for (;;) {
    const said = await peer.next();
    all.push(said);
    if ('admitted' in said || 'refused' in said) return all;
  }
}

describe('the Unix socket of a device with a key', () => {
  it('sends nothing to a process without a key', async () => {
    const { id } = await opened({ transport: 'shm', key: KEY });
    expect(await greeting(dialling(id, 'none', { key: null }))).toEqual([REFUSED_FOR_ITS_KEY]);
  });

  it.each([
    ['zeros', { proof: 'zeros' }],
    ['a proof of another key', { proof: 'right', key: OTHER_KEY.toString('hex') }],
    ["the listener's own kind of proof", { proof: 'listener' }],
  ])('sends nothing to a process that answers the challenge with %s', async (_, { proof, ...more }) => {
    const { id } = await opened({ transport: 'shm', key: KEY });
    const said = await greeting(dialling(id, proof, more));
    expect(said.at(-1)).toEqual(REFUSED_FOR_ITS_KEY);
    expect(said.every(({ fds = 0 }) => fds === 0)).toBe(true);
  });

  it('creates a new challenge each time, so that a proof cannot be reused', async () => {
    const { id } = await opened({ transport: 'shm', key: KEY });
    const first = dialling(id, 'right');
    const [challenge, { mac }, admitted] = [await first.next(), await first.next(), await first.next()];
    expect(admitted).toMatchObject({ admitted: true });
    const said = await greeting(dialling(id, 'replayed', { mac }));
    expect(said[0]!.challenge).not.toBe(challenge.challenge);
    expect(said.at(-1)).toEqual(REFUSED_FOR_ITS_KEY);
  });

  it('proves the key to the other side, and sends memory whose size is sealed', async () => {
    const { id } = await opened({ transport: 'shm', key: KEY });
    const peer = dialling(id, 'right');
    await peer.next();
    await peer.next();
    const truncation = 'Operation not permitted';
    expect(await peer.next()).toEqual({ admitted: true, provesKey: true, fds: 1, seals: SEALS, truncation });
    expect(await peer.next()).toEqual({ arena: 64 << 20, seals: SEALS, truncation });
  });
});

describe('devices of one host', () => {
  it.each(['shm', 'tcp'] as const)('with different keys do not connect over %s', async (transport) => {
    const a = await side({ device: 'soft', transport, key: KEY });
    const b = await side({ device: 'soft', transport, key: OTHER_KEY });
    const c = await side({ device: 'soft', transport, insecure: true });
    onTestFinished(async () => {
      for (const { device } of [a, b, c]) await device.close();
    });
    const refused = { code: 'ERR_RDMC_WRONG_KEY' };
    await expect(a.queuePair.connect(b.queuePair.address)).rejects.toMatchObject(refused);
    await expect(c.queuePair.connect(b.queuePair.address)).rejects.toMatchObject(refused);
    await expect(b.queuePair.connect(c.queuePair.address)).rejects.toMatchObject(refused);
  });

  it.each(['shm', 'tcp'] as const)('without keys prove the key of the user over %s', async (transport) => {
    const sides = await connectedSides({ device: 'soft', transport });
    const insecure = await side({ device: 'soft', transport, insecure: true });
    onTestFinished(async () => {
      for (const { device } of [...sides, insecure]) await device.close();
    });
    const fresh = sides[0].domain.createQueuePair({
      sendQueue: sides[0].queue,
      receiveQueue: sides[0].queue,
    });
    await expect(insecure.queuePair.connect(fresh.address)).rejects.toMatchObject({
      code: 'ERR_RDMC_WRONG_KEY',
    });
  });

  it.each(['shm', 'tcp'] as const)(
    'connect without a key if both are insecure, over %s',
    async (transport) => {
      const sides = await connectedSides({ device: 'soft', transport, insecure: true });
      for (const { device } of sides) await device.close();
    },
  );
});

describe('openDevice', () => {
  it('refuses to listen beyond loopback without a key, unless it is insecure', async () => {
    const listen = { host: '0.0.0.0' };
    await expect(openDevice({ device: 'soft', listen })).rejects.toMatchObject({
      code: 'ERR_RDMC_KEY_REQUIRED',
      message: expect.stringContaining('0.0.0.0 is not on loopback'),
    });
    for (const options of [{ key: KEY }, { insecure: true }, { transport: 'shm' }] as const) {
      await (await openDevice({ device: 'soft', listen, ...options })).close();
    }
  });

  it('accepts a key as text, which is encoded in UTF-8', async () => {
    const text = 'a key of more than sixteen bytes';
    const a = await side({ device: 'soft', transport: 'shm', key: text });
    const b = await side({ device: 'soft', transport: 'shm', key: Buffer.from(text) });
    await a.queuePair.connect(b.queuePair.address, PATIENT);
    for (const { device } of [a, b]) await device.close();
    const weak = openDevice({ device: 'soft', key: 'fifteen letters' });
    await expect(weak).rejects.toMatchObject({ code: 'ERR_RDMC_WEAK_KEY' });
  });

  it('accepts either a key or insecure, not both', async () => {
    await expect(openDevice({ device: 'soft', key: KEY, insecure: true })).rejects.toMatchObject({
      code: 'ERR_RDMC_INVALID_OPTION',
    });
  });
});
