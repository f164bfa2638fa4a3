import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setImmediate as immediate } from 'node:timers/promises';
import type { TLSSocket } from 'node:tls';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { CUT_PAUSE_MS } from '../src/constants.js';
import { encodeFrame, FrameReader, KeyedSockets } from '../src/sockets.js';
import { KEY, rejection } from './helpers.js';

const open: { destroy(): void }[] = [];
afterEach(() => {
  for (const each of open.splice(0)) each.destroy();
});

/** A server that accepts one connection; where it refuses, it says so in the clear. */
async function listen(sockets: KeyedSockets) {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  open.push({ destroy: () => server.close() });
  const accepted = once(server, 'connection').then(async ([raw]) => {
    open.push(raw as Socket);
    try {
      return await sockets.accept(raw as Socket);
    } catch (error) {
      (raw as Socket).end(encodeFrame(1, Buffer.from('no')));
      throw error;
    }
  });
  accepted.catch(() => {});
  return { to: { host: '127.0.0.1', port: (server.address() as AddressInfo).port }, accepted };
}

async function nextFrame(socket: Socket) {
  const reader = new FrameReader(1024);
  for await (const chunk of socket) {
    reader.push(chunk as Buffer);
    const frame = reader.next();
    if (frame) return frame;
  }
  throw new Error('the socket ended');
}

describe('KeyedSockets', () => {
  it.each([{ insecure: true }, { key: KEY }, {}])('both ends with %j: frames arrive', async (keying) => {
    const sockets = new KeyedSockets({ ...keying, purpose: 'test' });
    const { to, accepted } = await listen(sockets);
    const client = await sockets.connect(to);
    open.push(client);
    client.write(encodeFrame(7, Buffer.from('hello')));
    const frame = await nextFrame(await accepted);
    expect(frame).toEqual({ type: 7, payload: Buffer.from('hello') });
    if (!('insecure' in keying)) expect((client as TLSSocket).getProtocol()).toBe('TLSv1.3');
    expect(sockets.keyed).toBe(!('insecure' in keying));
  });

  it.each([
    ['another key', { key: KEY, purpose: 'test' }, { key: `${KEY}!`, purpose: 'test' }],
    ['another purpose', { key: KEY, purpose: 'test' }, { key: KEY, purpose: 'other' }],
    ['a key for one that has none', { purpose: 'test', insecure: true }, { key: KEY, purpose: 'test' }],
    ["a key for one that has the user's", { purpose: 'test' }, { key: KEY, purpose: 'test' }],
  ])('%s is refused at both ends', async (_name, there, here) => {
    const { to, accepted } = await listen(new KeyedSockets(there));
    const error = await rejection(new KeyedSockets(here).connect(to) as never);
    expect(error.code).toBe('ERR_RDMC_MESH_WRONG_KEY');
    expect(['ERR_RDMC_MESH_WRONG_KEY', 'ERR_RDMC_MESH_PROTOCOL']).toContain(
      (await rejection(accepted as never)).code,
    );
  });

  it('a caller without a key is told in the clear', async () => {
    const { to, accepted } = await listen(new KeyedSockets({ key: KEY, purpose: 'test' }));
    const client = await new KeyedSockets({ purpose: 'test', insecure: true }).connect(to);
    open.push(client);
    client.write(encodeFrame(1, Buffer.from('hello')));
    expect((await nextFrame(client)).payload.toString()).toBe('no');
    expect((await rejection(accepted as never)).code).toBe('ERR_RDMC_MESH_WRONG_KEY');
  });

  it('nobody there, an abort, and a wrong option have their codes', async () => {
    const sockets = new KeyedSockets({ purpose: 'test' });
    const { to } = await listen(sockets);
    for (const each of open.splice(0)) each.destroy();
    const nobody = await rejection(sockets.connect(to) as never);
    expect(nobody.code).toBe('ERR_RDMC_MESH_UNREACHABLE');
    expect(nobody.message).toContain(`127.0.0.1:${to.port}`);
    const aborted = await rejection(sockets.connect(to, { signal: AbortSignal.abort() }) as never);
    expect(aborted.code).toBe('ERR_RDMC_ABORTED');
    expect(() => new KeyedSockets({ purpose: 'test', keys: KEY } as never)).toThrow(/unknown option 'keys'/);
  });

  it('a socket that is closed already is not waited for', async () => {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    open.push({ destroy: () => server.close() });
    const accepted = once(server, 'connection');
    open.push(connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => {}));
    const [raw] = (await accepted) as [Socket];
    raw.destroy();
    await once(raw, 'close');
    const error = await rejection(new KeyedSockets({ key: KEY, purpose: 'test' }).accept(raw));
    expect(error.code).toBe('ERR_RDMC_MESH_UNREACHABLE');
  });
});

/** A server that cuts so many connections after their first bytes; `arrived` counts all. */
async function cutting(sockets: KeyedSockets, cuts: number) {
  const server = createServer((raw) => {
    seen.arrived += 1;
    open.push(raw);
    if (seen.arrived <= cuts) raw.on('error', () => {}).once('data', () => raw.destroy());
    else void sockets.accept(raw).catch(() => raw.destroy());
  });
  const seen = { arrived: 0, to: { host: '127.0.0.1', port: 0 } };
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  open.push({ destroy: () => server.close() });
  seen.to.port = (server.address() as AddressInfo).port;
  return seen;
}

describe('a connection that is cut before the answer', () => {
  const sockets = new KeyedSockets({ key: KEY, purpose: 'test' });
  const LIMIT_MS = CUT_PAUSE_MS / 2;

  /** Time stands still until `vi.advanceTimersByTime`. */
  function stopTime(): void {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
  }

  /** The time-out and the pause are the two timers that run. */
  async function untilPause(server: { arrived: number }, arrived: number): Promise<void> {
    while (vi.getTimerCount() < 2 && server.arrived <= arrived) await immediate();
    expect(server.arrived).toBe(arrived);
  }

  it('is tried again after a pause', async () => {
    const server = await cutting(sockets, 2);
    stopTime();
    const connecting = sockets.connect(server.to);
    for (const attempt of [1, 2]) {
      await untilPause(server, attempt);
      vi.advanceTimersByTime(2 * CUT_PAUSE_MS);
    }
    open.push(await connecting);
    expect(server.arrived).toBe(3);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('is not tried again once the time is over or the signal aborted', async () => {
    const server = await cutting(sockets, 2);
    stopTime();
    const late = rejection(sockets.connect(server.to, { timeoutMs: LIMIT_MS }));
    await untilPause(server, 1);
    vi.advanceTimersByTime(LIMIT_MS);
    expect(await late).toMatchObject({
      code: 'ERR_RDMC_MESH_UNREACHABLE',
      message: expect.stringContaining(`no answer within ${LIMIT_MS} ms`),
    });
    const abort = new AbortController();
    const aborted = rejection(sockets.connect(server.to, { signal: abort.signal }));
    await untilPause(server, 2);
    const cause = new Error('enough');
    abort.abort(cause);
    expect(await aborted).toMatchObject({ name: 'AbortError', code: 'ERR_RDMC_ABORTED', cause });
    expect(vi.getTimerCount()).toBe(0);
  });
});
