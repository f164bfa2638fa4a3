import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { SPARE_PENDING_CONNECTIONS } from '../src/constants.js';
import { KeyedSockets } from '../src/sockets.js';
import { assertWhole, closed, form, KEY, place, stranger, until } from './helpers.js';

/** So long that no time-out plays a part. */
const NEVER_MS = 600_000;

const open: { destroy(): void }[] = [];
afterEach(() => {
  for (const each of open.splice(0)) each.destroy();
});

describe('silent connections', () => {
  it.each([{ key: KEY }, { insecure: true }])('300 of them do not delay a join, %j', async (keying) => {
    const where = await place(2);
    const internals = { pendingTickMs: NEVER_MS };
    const first = where.join(0, keying, internals);
    const silent: Socket[] = [];
    for (let i = 0; i < 300; i += 1) silent.push(await stranger(where.members[0]!));
    const meshes = await Promise.all([first.mesh, where.join(1, keying, internals).mesh]);
    await assertWhole(meshes);
    // The newest are still there: room was made, not waited for.
    const { listener } = first.core.connector;
    await until(() => listener.pendingCount < SPARE_PENDING_CONNECTIONS + 2);
    expect(listener.pendingCount).toBeGreaterThan(SPARE_PENDING_CONNECTIONS - 2);
    await Promise.all(silent.slice(0, 300 - SPARE_PENDING_CONNECTIONS - 2).map(closed));
    expect(silent.at(-1)!.destroyed).toBe(false);
  });

  it('64 callers at once from one address do not end each other, beside as many silent ones', async () => {
    const sockets = new KeyedSockets({ key: KEY, purpose: 'test', expected: 64 });
    const server = createServer((raw) => void sockets.accept(raw).catch(() => raw.destroy()));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    open.push({ destroy: () => server.close() });
    const to = { host: '127.0.0.1', port: (server.address() as AddressInfo).port };
    for (let i = 0; i < SPARE_PENDING_CONNECTIONS; i += 1) await stranger({ id: 0, ...to });
    let arrived = 0;
    server.on('connection', () => {
      arrived += 1;
    });
    const callers = Array.from({ length: 64 }, () => sockets.connect(to));
    open.push(...(await Promise.all(callers)));
    // Nobody had to call twice.
    expect(arrived).toBe(64);
  });

  it('are dropped after a second; those that speak have more time', async () => {
    const { cores, members } = await form(2, { key: KEY });
    const { listener } = cores[0]!.connector;
    const speaking = await stranger(members[0]!);
    // A TLS record that promises 512 bytes of handshake.
    speaking.write(Buffer.of(0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc));
    const silent = await stranger(members[0]!);
    await until(() => listener.pendingCount === 2);
    await closed(silent);
    await until(() => listener.pendingCount === 1);
    expect(speaking.destroyed).toBe(false);
  });
});
