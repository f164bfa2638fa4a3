import { type ChildProcess, fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { LocalPeer, type Said } from './support/local-peer.js';

const KEY = randomBytes(32).toString('hex');
const VICTIM = fileURLToPath(new URL('fixtures/soft-victim.mjs', import.meta.url));
const CHUNK = 2 << 20;
const HUGE = 0xffff_ffff;

interface Meeting {
  readonly opcode?: string;
  readonly byteLength?: number;
  /** Options of the hostile process. */
  readonly peer: Said;
}

async function answer(victim: ChildProcess): Promise<Said> {
  const ended = once(victim, 'exit').then(([code, signal]) => ({ ended: signal ?? code }));
  const said = once(victim, 'message').then(([message]) => message as Said);
  return Promise.race([said, ended]);
}

/** A queue pair of a separate process connects to a hostile one and posts a request; returns the result. */
async function meet({ opcode = 'SEND', byteLength = 4096, peer }: Meeting): Promise<Said> {
  const victim = fork(VICTIM, [JSON.stringify({ key: KEY, opcode, byteLength })]);
  const { address } = (await answer(victim)) as { address: Record<string, unknown> };
  const [device, queuePair] = [randomBytes(16).toString('hex'), 1 | (1 << 13)];
  const hostile = new LocalPeer('listen', {
    device,
    key: KEY,
    queuePair,
    peerDevice: address.device,
    peerQueuePair: address.queuePair,
    ...peer,
  });
  await hostile.next();
  victim.send({ remote: { ...address, device, queuePair } });
  const outcome = await answer(victim);
  const ended = once(victim, 'exit');
  if (victim.connected) victim.disconnect();
  if (!outcome.ended) expect(await ended).toEqual([0, null]);
  // The dialling side does not have anything to send.
  expect(await hostile.next()).toMatchObject({ hello: true, fds: 0 });
  return outcome;
}

describe('a peer over shared memory', () => {
  it('that is honest can be written and read', async () => {
    expect(await meet({ peer: {} })).toEqual({ status: 'SUCCESS' });
    expect(await meet({ peer: {}, opcode: 'READ' })).toEqual({ status: 'SUCCESS' });
  });

  it.each([
    ['does not know the key', { key: randomBytes(32).toString('hex') }, 'ERR_RDMC_WRONG_KEY'],
    ['does not ask for the key', { challenges: false }, 'ERR_RDMC_WRONG_KEY'],
    ['could shrink its control segment', { controlSealed: false }, 'ERR_RDMC_CONNECT_FAILED'],
    ['has a control segment of another version', { controlVersion: 99 }, 'ERR_RDMC_PROTOCOL_VERSION'],
    ['has a control segment with other content', { controlMagic: 0 }, 'ERR_RDMC_PROTOCOL_VERSION'],
    ['has a control segment that ends early', { controlBytes: 4096 }, 'ERR_RDMC_PROTOCOL_VERSION'],
    ['announces a receive queue of no entries', { receiveDepth: 0 }, 'ERR_RDMC_CONNECT_FAILED'],
    ['is to be woken through a pipe, which is full', { bell: 'pipe' }, 'ERR_RDMC_CONNECT_FAILED'],
    ['is to be woken through a stream, which is full', { bell: 'stream' }, 'ERR_RDMC_CONNECT_FAILED'],
    ['announces a receive queue of 2^32 - 1 entries', { receiveDepth: HUGE }, 'ERR_RDMC_CONNECT_FAILED'],
  ])('that %s is refused', async (_, peer, code) => {
    expect(await meet({ peer })).toEqual({ code });
  });

  it.each([
    ['could shrink its memory', { arenaSealed: false }, 'RETRY_EXCEEDED'],
    ['announces more memory than its file has', { announcedBytes: 64 << 20 }, 'RETRY_EXCEEDED'],
    [
      'announces less memory than its file has',
      { arenaBytes: 2 * CHUNK, announcedBytes: CHUNK },
      'RETRY_EXCEEDED',
    ],
    ['has memory of an odd size', { arenaBytes: CHUNK + 4096 }, 'RETRY_EXCEEDED'],
    ['announces more memory than there are addresses', { announcedBytes: 2 ** 53 }, 'RETRY_EXCEEDED'],
    ['has a region beyond the end of its memory', { arenaOffset: CHUNK }, 'REMOTE_OPERATION_ERROR'],
    ['has a region at the end of all addresses', { arenaOffset: 0xffff_ffff_f000 }, 'REMOTE_OPERATION_ERROR'],
  ])('that %s makes requests fail, not this process', async (_, peer, status) => {
    expect(await meet({ peer, opcode: 'WRITE' })).toEqual({ status });
  });

  it.each([
    ['posts a receive of 2^32 - 1 entries', { sgeCount: HUGE }, 'SUCCESS'],
    ['posts a receive of entries of 2^32 - 1 bytes', { slotBytes: HUGE }, 'SUCCESS'],
    ['posts 2^32 - 1 receives', { receivesPosted: HUGE }, 'SUCCESS'],
    ['blocks processes that wake it', { bell: 'datagrams' }, 'SUCCESS'],
    ['names an invalid completion queue', { receiveCq: HUGE }, 'SUCCESS'],
  ])('that %s does not have any effect', async (_, peer, status) => {
    expect(await meet({ peer, byteLength: 4096 })).toEqual({ status });
  });
});
