import type { Logs } from '@rdmc/tailwind';
import type { CoordinatorClient } from '@rdmc/tailwind/coordinator';
import { expect, it } from 'vitest';
import type { ServerOptions } from '../src/node/cluster-options.js';
import { openLog } from '../src/node/open-log.js';
import { Keyspace } from '../src/store/keyspace.js';

/** A coordinator that counts its logs, and backups that refuse with these codes, one after the other. */
function cluster(refusals: string[], coordinators: string[] = []) {
  const abandoned: bigint[] = [];
  let logId = 0n;
  const answer = <T>(value: T): T => {
    const code = coordinators.shift();
    if (code !== undefined) throw Object.assign(new Error('no'), { code });
    return value;
  };
  const coordinator = {
    createLog: async () => answer({ logId: ++logId, incarnation: 1 }),
    abandonLog: async (id: bigint) => abandoned.push(id),
    lease: async () => answer({ valid: true, close() {} }),
  };
  const create = async () => {
    const code = refusals.shift();
    if (code !== undefined) throw Object.assign(new Error('no'), { code });
    return {
      ended: new AbortController().signal,
      signal: new AbortController().signal,
      close: async () => {},
    };
  };
  const open = () => {
    const [logs, client] = [{ create } as unknown as Logs, coordinator as unknown as CoordinatorClient];
    return openLog({ id: 1 } as ServerOptions, logs, client, [1, 2, 3, 4], new Keyspace());
  };
  return { open, abandoned };
}

it('a server that begins asks backups again that have not found the coordinator yet', async () => {
  const { open, abandoned } = cluster(['ERR_RDMC_TOO_FEW_BACKUPS', 'ERR_RDMC_TOO_FEW_BACKUPS']);
  const { logId } = await open();
  expect(logId).toBe(3n);
  expect(abandoned).toEqual([1n, 2n]);
});

it('a server that begins while coordinators follow each other asks the next one', async () => {
  const lost = ['ERR_RDMC_STATE_LOST', 'ERR_RDMC_COORDINATOR_STALE'];
  const { open, abandoned } = cluster([], lost);
  expect((await open()).logId).toBe(3n);
  expect([abandoned, lost]).toEqual([[], []]);
});

it('other refusals of its log end it', async () => {
  const { open } = cluster(['ERR_RDMC_LOG_FENCED']);
  await expect(open()).rejects.toMatchObject({ code: 'ERR_RDMC_LOG_FENCED' });
});
