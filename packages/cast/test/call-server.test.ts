import { lookup } from 'node:dns/promises';
import { refusal, rejection, temporaryDirectory } from '@rdmc/testing';
import { expect, it, vi } from 'vitest';
import { callServer, type ServerChannel } from '../src/pull/call-server.js';
import { checkFetchOptions } from '../src/pull/fetch-options.js';
import { KEY, startServer } from './support/pull.js';

vi.mock('node:dns/promises', async (original) => {
  const real = await original<typeof import('node:dns/promises')>();
  return { ...real, lookup: vi.fn(real.lookup) };
});

it('a server whose name does not resolve yet is called again with waitMs', async () => {
  const directory = temporaryDirectory();
  const { server } = await startServer(directory, { key: KEY });
  // As the name of a Kubernetes service without pods: it resolves when the server is there.
  const from = { host: 'models.test', port: server.address.port };
  const call = (waitMs: number): Promise<string> => {
    const options = checkFetchOptions({ from, directory, key: KEY, waitMs });
    const begin = async (channel: ServerChannel): Promise<string> => {
      channel.destroy();
      return 'connected';
    };
    return callServer(options, new AbortController().signal, begin);
  };
  const unknown = Object.assign(new Error('getaddrinfo ENOTFOUND'), { code: 'ENOTFOUND' });
  vi.mocked(lookup).mockRejectedValueOnce(unknown);
  expect(await rejection(call(0))).toEqual(refusal('ERR_RDMC_UNKNOWN_HOST'));
  vi.mocked(lookup).mockRejectedValueOnce(unknown);
  vi.mocked(lookup).mockResolvedValueOnce({ address: '127.0.0.1', family: 4 } as never);
  expect(await call(600_000)).toBe('connected');
});
