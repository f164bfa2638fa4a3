import { readdirSync } from 'node:fs';
import { Backup, type BackupOptions, type OpenReplica } from '@rdmc/tailwind/backup';
import { temporaryDirectory } from '@rdmc/testing';
import { onTestFinished } from 'vitest';
import { IDENTITY } from './segments.js';
import { connectedPair, type Pair } from './writer.js';

export const CLUSTER = '00112233-4455-6677-8899-aabbccddeeff';
export const SEGMENT_BYTES = 8192;

/** The files in a backup's directory, without its lock. */
export function filesIn(directory: string): string[] {
  return readdirSync(directory)
    .filter((name) => !name.startsWith('backup.lock.'))
    .sort();
}

export interface BackupRig extends Pair {
  readonly backup: Backup;
  readonly directory: string;
}

/** A backup with small buffers, and a device that can write into them; both are closed at the end of the test. */
export async function startBackup(options: Partial<BackupOptions> = {}): Promise<BackupRig> {
  const pair = await connectedPair();
  const directory = options.directory ?? temporaryDirectory();
  const backup = await Backup.open({
    protectionDomain: pair.protectionDomain,
    directory,
    clusterId: CLUSTER,
    segmentBytes: SEGMENT_BYTES,
    buffers: 2,
    ...options,
  });
  onTestFinished(async () => {
    await backup.close();
    await pair.close();
  });
  return { ...pair, backup, directory };
}

export function opening(changes: Partial<OpenReplica> = {}): OpenReplica {
  return { ...IDENTITY, epoch: 1, segmentBytes: SEGMENT_BYTES, committed: true, ...changes };
}
