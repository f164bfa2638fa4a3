/** The rules of pending connections, by ticks of the test. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, Socket } from 'node:net';
import { setImmediate as immediate } from 'node:timers/promises';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import {
  FIRST_BYTES_TICKS,
  HANDSHAKE_TICKS,
  PENDING_SOURCES,
  SPARE_PENDING_CONNECTIONS,
} from '../src/constants.js';
import { PendingConnections } from '../src/pending-connections.js';
import { sourceOf } from '../src/source-of.js';

/** So long that no time-out plays a part. */
const NEVER_MS = 600_000;
/** The end of a connection that is late waits for two of them. */
const IMMEDIATES = 3;

const open: { destroy(): void }[] = [];
afterEach(() => {
  for (const each of open.splice(0)) each.destroy();
});

/** Server ends of connections from these addresses of loopback, in that order. */
async function connections(addresses: readonly string[]): Promise<Socket[]> {
  const server: Server = createServer({ pauseOnConnect: true });
  server.listen(0, '0.0.0.0');
  await once(server, 'listening');
  open.push({ destroy: () => server.close() });
  const { port } = server.address() as AddressInfo;
  const accepted: Socket[] = [];
  for (const localAddress of addresses) {
    const arrived = once(server, 'connection') as Promise<[Socket]>;
    open.push(connect({ port, host: '127.0.0.1', localAddress }).on('error', () => {}));
    const [socket] = await arrived;
    open.push(socket);
    accepted.push(socket);
  }
  return accepted;
}

const ofOneAddress = (count: number): string[] => Array(count).fill('127.0.0.1');
const indexesOfEnded = (sockets: readonly Socket[]): number[] =>
  sockets.flatMap((socket, index) => (socket.destroyed ? [index] : []));

/** From here on ticks of 1 ms come from `vi.advanceTimersByTime`. */
function ticksByHand(): void {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
}

describe('a connection whose time is over', () => {
  it('stays when it is let in between the tick and the read that follows', async () => {
    const [late, letIn] = (await connections(ofOneAddress(2))) as [Socket, Socket];
    ticksByHand();
    const pending = new PendingConnections(1, 1);
    pending.admit(late);
    const stranger = pending.admit(letIn);
    vi.advanceTimersByTime(HANDSHAKE_TICKS + 1);
    stranger.done();
    for (let i = 0; i < IMMEDIATES; i += 1) await immediate();
    expect(late.destroyed).toBe(true);
    expect(letIn.destroyed).toBe(false);
  });
});

describe('the time of a connection', () => {
  it('is that of the first bytes where it says nothing, else that of a handshake', async () => {
    const sockets = await connections(ofOneAddress(2));
    ticksByHand();
    const pending = new PendingConnections(1, 1);
    const [, speaking] = sockets.map((socket) => pending.admit(socket));
    speaking!.heard();
    for (const [ticks, ended] of [
      [FIRST_BYTES_TICKS, []],
      [1, [0]],
      [HANDSHAKE_TICKS - FIRST_BYTES_TICKS - 1, [0]],
      [1, [0, 1]],
    ] as const) {
      vi.advanceTimersByTime(ticks);
      for (let i = 0; i < IMMEDIATES; i += 1) await immediate();
      expect(indexesOfEnded(sockets)).toEqual(ended);
    }
  });
});

describe('a quota', () => {
  const quota = SPARE_PENDING_CONNECTIONS + 1;

  it("is one address's own: the oldest of that address makes room", async () => {
    const sockets = await connections([...ofOneAddress(quota), '127.0.0.2', '127.0.0.1', '127.0.0.1']);
    const pending = new PendingConnections(1, NEVER_MS);
    open.push({ destroy: () => pending.close() });
    const all = sockets.map((socket) => pending.admit(socket));
    expect(indexesOfEnded(sockets)).toEqual([0, 1]);
    expect(all[0]!.reason?.message).toContain('the oldest');
    expect(pending.size).toBe(quota + 1);
  });

  it('ends those first that were silent for a tick, and does not count those with the key', async () => {
    const sockets = await connections(ofOneAddress(quota + 4));
    ticksByHand();
    const pending = new PendingConnections(1, 1);
    open.push({ destroy: () => pending.close() });
    const all = sockets.slice(0, quota).map((socket) => pending.admit(socket));
    vi.advanceTimersByTime(1);
    all[0]!.heard();
    all[1]!.heard();
    all[1]!.proven();
    pending.admit(sockets[quota]!);
    expect(indexesOfEnded(sockets)).toEqual([]);
    pending.admit(sockets[quota + 1]!);
    expect(indexesOfEnded(sockets)).toEqual([2]);
    for (const each of all.slice(3)) each.heard();
    // The last two are the only silent ones, but they have just arrived.
    pending.admit(sockets[quota + 2]!);
    expect(indexesOfEnded(sockets)).toEqual([0, 2]);
    vi.advanceTimersByTime(1);
    pending.admit(sockets[quota + 3]!);
    expect(indexesOfEnded(sockets)).toEqual([0, 2, quota]);
  });

  it('of all addresses together: the one that has most gives its oldest', async () => {
    const others = Array.from(
      { length: quota * PENDING_SOURCES - 2 },
      (_, i) => `127.0.${1 + (i >> 7)}.${1 + (i & 127)}`,
    );
    const sockets = await connections(['127.0.0.3', '127.0.0.2', '127.0.0.2', ...others]);
    const pending = new PendingConnections(1, NEVER_MS);
    open.push({ destroy: () => pending.close() });
    for (const socket of sockets) pending.admit(socket);
    expect(indexesOfEnded(sockets)).toEqual([1]);
  });

  it('is given back by those that are done', async () => {
    const sockets = await connections(ofOneAddress(quota + 1));
    const pending = new PendingConnections(1, NEVER_MS);
    open.push({ destroy: () => pending.close() });
    for (const socket of sockets.slice(0, quota)) pending.admit(socket).done();
    expect(pending.size).toBe(0);
    sockets[0]!.destroy();
    pending.admit(sockets[quota]!);
    expect(indexesOfEnded(sockets)).toEqual([0]);
  });
});

it('the quota of all addresses together is given back, too', () => {
  const pending = new PendingConnections(1, NEVER_MS);
  open.push({ destroy: () => pending.close() });
  const most = (SPARE_PENDING_CONNECTIONS + 1) * PENDING_SOURCES;
  for (let i = 0; i < most; i += 1) pending.admit(connectionFrom('192.0.2.1')).done();
  const sockets = ['192.0.2.2', '192.0.2.3'].map(connectionFrom);
  for (const socket of sockets) pending.admit(socket);
  expect(indexesOfEnded(sockets)).toEqual([]);
});

/** A connection from an address that this host need not have. */
function connectionFrom(address: string): Socket {
  const socket = new Socket();
  Object.defineProperty(socket, 'remoteAddress', { value: address });
  open.push(socket);
  return socket;
}

describe('a source', () => {
  it.each([
    ['192.0.2.7', '192.0.2.7'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['::1', '::1'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8:1:2::6', '2001:db8:1:2::/64'],
    ['2001:db8::6', '2001:db8:0:0::/64'],
    ['2001:db8:0:2::', '2001:db8:0:2::/64'],
    ['fe80::1234%eth0', 'fe80:0:0:0::/64'],
    ['::2', '0:0:0:0::/64'],
    ['', ''],
  ])('of %s is %s', (address, source) => {
    expect(sourceOf(address)).toBe(source);
  });

  it('is one IPv6 network, whichever of its addresses connections come from', () => {
    const pending = new PendingConnections(1, NEVER_MS);
    open.push({ destroy: () => pending.close() });
    const sockets = Array.from({ length: SPARE_PENDING_CONNECTIONS + 2 }, (_, i) => {
      return connectionFrom(`2001:db8::${(i + 1).toString(16)}`);
    });
    const elsewhere = connectionFrom('2001:db8:0:1::1');
    for (const socket of [elsewhere, ...sockets]) pending.admit(socket);
    expect(indexesOfEnded(sockets)).toEqual([0]);
    expect(elsewhere.destroyed).toBe(false);
  });

  it('has room for all members of one IPv6 network, beside as many pending of it as may be', () => {
    const members = 100;
    const pending = new PendingConnections(members, NEVER_MS);
    open.push({ destroy: () => pending.close() });
    const silent = Array.from({ length: SPARE_PENDING_CONNECTIONS }, (_, i) =>
      connectionFrom(`fd00::a:${i}`),
    );
    for (const socket of silent) pending.admit(socket);
    const dialling = Array.from({ length: members }, (_, i) => connectionFrom(`fd00::b:${i}`));
    const admitted = dialling.map((socket) => pending.admit(socket));
    expect(indexesOfEnded([...silent, ...dialling])).toEqual([]);
    for (const each of admitted) {
      each.heard();
      each.proven();
    }
    // Those with the key do not count, so whatever comes now ends others.
    const flood = Array.from({ length: 3 * members }, (_, i) => connectionFrom(`fd00::c:${i}`));
    for (const socket of flood) pending.admit(socket);
    expect(indexesOfEnded(dialling)).toEqual([]);
    expect(indexesOfEnded(silent)).toHaveLength(SPARE_PENDING_CONNECTIONS);
  });
});
