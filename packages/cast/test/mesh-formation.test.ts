import { Deferred } from '@rdmc/common';
import { afterEach, expect, it, vi } from 'vitest';
import { checkCastOptions } from '../src/checked-cast-options.js';
import { CastError } from '../src/errors.js';
import { type CastingThreads, MeshFormation } from '../src/sender/mesh-formation.js';
import type { ReceiverLink } from '../src/sender/receiver-link.js';
import { fakeReceiver, hello } from './support/fake-receiver.js';

const cleanUp: (() => unknown)[] = [];
afterEach(async () => {
  for (const each of cleanUp.splice(0)) await each();
});

it('a receiver is called while the reader looks at the paths, and not invited before, nor where there are none', async () => {
  const heard: string[] = [];
  const left = new Deferred<void>();
  const { to, close } = await fakeReceiver(async (channel) => {
    channel.send(hello);
    for await (const { type } of channel) heard.push(type);
    left.resolve();
  });
  cleanUp.push(close);
  const links: ReceiverLink[] = [];
  const begun = new Deferred<void>();
  const missing = new CastError('ERR_RDMC_NOT_FOUND', 'there is no such file');
  const reader = { compare: async () => {} };
  const options = checkCastOptions({ to: [to] });
  const formation = new MeshFormation(
    options,
    { begun: begun.promise, surveyed: () => Promise.reject(missing) },
    { reader } as unknown as CastingThreads,
    new AbortController().signal,
    (made) => links.push(...made),
  );
  const formed = formation.run(options.to);
  formed.catch(() => {});
  await vi.waitFor(() => expect(links[0]?.hello).toBeDefined(), 30_000);
  begun.reject(missing);
  await expect(formed).rejects.toBe(missing);
  await links[0]!.close(missing);
  await left.promise;
  expect(heard).toEqual(['call', 'abort']);
});
