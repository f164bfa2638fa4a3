import { expect, it } from 'vitest';
import type { Backup as SourceBackup } from '../src/backup/backup.js';
import { Loads } from '../src/rpc/loads.js';
import { opening, startBackup } from './support/backups.js';
import { IDENTITY } from './support/segments.js';

it('a load is freed if its member leaves before it is complete', async () => {
  const { backup, protectionDomain } = await startBackup();
  await backup.openReplica(opening());
  const loads = new Loads(protectionDomain, backup as unknown as SourceBackup);
  const allocate = protectionDomain.allocate.bind(protectionDomain);
  const regions: { closed: boolean }[] = [];
  protectionDomain.allocate = async (...request) => {
    // The member leaves at this moment.
    await loads.endAll(2);
    const region = await allocate(...request);
    regions.push(region);
    return region;
  };
  await expect(loads.begin(2, IDENTITY)).rejects.toThrow(/before its replica/);
  expect(regions.map(({ closed }) => closed)).toEqual([true]);
  protectionDomain.allocate = allocate;
  const { load } = await loads.begin(2, IDENTITY);
  await loads.end(2, load);
});
