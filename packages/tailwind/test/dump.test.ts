import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { temporaryDirectory } from '@rdmc/testing';
import { expect, it } from 'vitest';
import { CLUSTER, startBackup } from './support/backups.js';
import { IDENTITY, sampleSegment } from './support/segments.js';

const { bytes, ends } = sampleSegment(8192, [[5], [100]]);
const program = fileURLToPath(new URL('./fixtures/dumping-backup.mjs', import.meta.url));

it.each(['SIGTERM', 'SIGPWR'] as const)('a backup that gets %s dumps its open buffers', async (signal) => {
  const directory = temporaryDirectory();
  const hex = Buffer.from(bytes.subarray(0, ends[1])).toString('hex');
  const child = spawn(process.execPath, [program, directory, CLUSTER, hex], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  await Promise.race([once(child.stdout, 'data'), exited]);
  child.kill(signal);
  expect(await exited).toEqual([null, signal]);
  const { backup } = await startBackup({ directory });
  expect(await backup.inventory(IDENTITY.logId)).toMatchObject([
    { record: { ...IDENTITY, state: 'open' }, scan: { status: 'ok', offset: ends[1] } },
  ]);
});
