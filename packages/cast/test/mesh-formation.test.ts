import dns from 'node:dns/promises';
import { once } from 'node:events';
import { syncBuiltinESMExports } from 'node:module';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { isDeepStrictEqual } from 'node:util';
import { Deferred } from '@rdmc/common';
import { until } from '@rdmc/testing';
import { afterEach, expect, it, vi } from 'vitest';
import type { CastOptions } from '../src/cast-options.js';
import { checkCastOptions } from '../src/checked-cast-options.js';
import { CALL_AGE_MS } from '../src/constants.js';
import { CastError } from '../src/errors.js';
import { type CastingThreads, MeshFormation } from '../src/sender/mesh-formation.js';
import type { ReceiverLink } from '../src/sender/receiver-link.js';
import { fakeReceiver, hello } from './support/fake-receiver.js';

const cleanUp: (() => unknown)[] = [];
afterEach(async () => {
  for (const each of cleanUp.splice(0)) await each();
});

const missing = new CastError('ERR_RDMC_NOT_FOUND', 'there is no such file');

/** A formation that has begun; its reader looks at the paths: `lacks` says that there are none, and `has` that they are there. */
function forming(given: CastOptions) {
  const links: ReceiverLink[] = [];
  const begun = new Deferred<void>();
  const over = new AbortController();
  const options = checkCastOptions(given);
  const formation = new MeshFormation(
    options,
    { begun: begun.promise, surveyed: () => Promise.reject(missing) },
    { reader: { compare: async () => {}, piece: () => new Promise(() => {}) } } as unknown as CastingThreads,
    over.signal,
    (made) => links.push(...made),
  );
  const formed = formation.run(options.to);
  formed.catch(() => {});
  return { formed, links, over, lacks: () => begun.reject(missing), has: () => begun.resolve() };
}

it('a receiver is called while the reader looks at the paths, and not invited before, nor where there are none', async () => {
  const heard: string[] = [];
  const left = new Deferred<void>();
  const { to, close } = await fakeReceiver(async (channel) => {
    channel.send(hello);
    for await (const { type } of channel) heard.push(type);
    left.resolve();
  });
  cleanUp.push(close);
  const { formed, links, lacks } = forming({ to: [to] });
  await vi.waitFor(() => expect(links[0]?.hello).toBeDefined(), 30_000);
  lacks();
  await expect(formed).rejects.toBe(missing);
  await links[0]!.close(missing);
  await left.promise;
  expect(heard).toEqual(['call', 'abort']);
});

it.each([
  ['a moment', 0, [['call', 'invite']]],
  [
    'long',
    CALL_AGE_MS,
    [
      ['call', 'abort'],
      ['call', 'invite'],
    ],
  ],
])(
  'a receiver is invited when the reader has looked at the paths for %s',
  async (_name, tookMs, expected) => {
    const heard: string[][] = [];
    const { to, close } = await fakeReceiver(async (channel) => {
      const frames: string[] = [];
      heard.push(frames);
      channel.send(hello);
      for await (const { type } of channel) frames.push(type);
    });
    cleanUp.push(close);
    const { formed, links, over, has } = forming({ to: [to] });
    await until(() => links[0]?.hello !== undefined);
    const now = performance.now.bind(performance);
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => now() + tookMs);
    cleanUp.push(() => clock.mockRestore());
    has();
    await until(() => isDeepStrictEqual(heard, expected));
    over.abort();
    await expect(formed).rejects.toBeDefined();
    expect(heard).toHaveLength(expected.length);
  },
);

it('a receiver whose greeting took long is called again, because it counts from the call on', async () => {
  const now = performance.now.bind(performance);
  let tookMs = 0;
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now() + tookMs);
  cleanUp.push(() => clock.mockRestore());
  const heard: string[][] = [];
  const { to, close } = await fakeReceiver(async (channel) => {
    const frames: string[] = [];
    heard.push(frames);
    for await (const { type } of channel) {
      frames.push(type);
      if (type !== 'call') continue;
      tookMs = CALL_AGE_MS;
      channel.send(hello);
    }
  });
  cleanUp.push(close);
  const { formed, over, has } = forming({ to: [to] });
  has();
  await until(() => heard.at(-1)?.at(-1) === 'invite');
  over.abort();
  await expect(formed).rejects.toBeDefined();
  expect(heard.map(([first]) => first)).toEqual(['call', 'call']);
});

it('a missing path is reported while a receiver does not answer, whose call then ends', async () => {
  const sockets: Socket[] = [];
  const silent = createServer((socket) => void sockets.push(socket));
  silent.listen(0, '127.0.0.1');
  await once(silent, 'listening');
  cleanUp.push(
    () => silent.close(),
    () => sockets.map((socket) => socket.destroy()),
  );
  const called = once(silent, 'connection');
  const { port } = silent.address() as AddressInfo;
  const to = [{ host: '127.0.0.1', port }];
  const { formed, links, over, lacks } = forming({ to, connectTimeoutMs: 600_000 });
  await called;
  lacks();
  await expect(formed).rejects.toBe(missing);
  over.abort();
  await links[0]!.down;
  expect(links[0]!.failure!.code).toBe('ERR_RDMC_ABORTED');
});

it('a receiver that has not greeted when the sender fails is not said to be silent', async () => {
  const called = new Deferred<void>();
  const { to, close } = await fakeReceiver(async (channel) => {
    for await (const _ of channel) called.resolve();
  });
  cleanUp.push(close);
  const { formed, links, over, lacks } = forming({ to: [to], connectTimeoutMs: 600_000 });
  await called.promise;
  lacks();
  await expect(formed).rejects.toBe(missing);
  over.abort();
  await links[0]!.down;
  expect(links[0]!.failure).toMatchObject({ code: 'ERR_RDMC_ABORTED', message: 'the sender ended the cast' });
});

it.each(['size-time', 'none'] as const)(
  'a missing path is reported while a name is looked up, with compare %s',
  async (compare) => {
    const lookup = vi.spyOn(dns, 'lookup').mockReturnValue(new Promise<never>(() => {}));
    syncBuiltinESMExports();
    cleanUp.push(() => {
      lookup.mockRestore();
      syncBuiltinESMExports();
    });
    const to = [{ host: 'receiver.invalid', port: 1 }];
    const { formed, lacks } = forming({ to, key: 'a key of more than sixteen bytes', compare });
    lacks();
    await expect(formed).rejects.toBe(missing);
    expect(lookup).toHaveBeenCalled();
  },
);
