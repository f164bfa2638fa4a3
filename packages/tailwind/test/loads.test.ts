import { expect, it } from 'vitest';
import type { Backup as SourceBackup } from '../src/backup/backup.js';
import { Loads } from '../src/rpc/loads.js';
import { opening, startBackup } from './support/backups.js';
import { IDENTITY } from './support/segments.js';

it('a load whose member goes before it is there is given back', async () => {
  const { backup, protectionDomain } = await startBackup();
  await backup.openReplica(opening());
  const loads = new Loads(protectionDomain, backup as unknown as SourceBackup);
  const allocate = protectionDomain.allocate.bind(protectionDomain);
  const regions: { closed: boolean }[] = [];
  protectionDomain.allocate = async (...request) => {
    // The member goes at this very moment.
    await loads.endAll(2);
    const region = await allocate(...request);
    regions.push(region);
    return region;
  };
  await expect(loads.begin(2, IDENTITY)).rejects.toThrow(/before its load/);
  expect(regions.map(({ closed }) => closed)).toEqual([true]);
  protectionDomain.allocate = allocate;
  const { load } = await loads.begin(2, IDENTITY);
  await loads.end(2, load);
});
