import { closeSync, openSync, readdirSync, readFileSync, readSync } from 'node:fs';
import { join } from 'node:path';

const SUFFIX = '.replica';
/** Where a replica's header has its version (packages/tailwind/src/storage/replica-header.ts). */
const VERSION_AT = 8;

/** The format of the coordinator's state in a cluster's directory. */
export function stateFormat(directory: string): number {
  const [first = ''] = readFileSync(join(directory, 'coordinator', 'state'), 'utf8').split('\n');
  return Number((JSON.parse(first) as { format: unknown }).format);
}

/** The versions of the replicas' files of a server. It may write and remove some meanwhile. */
export function replicaVersions(directory: string, server: number): number[] {
  const folder = join(directory, `server-${server}`);
  return readdirSync(folder)
    .filter((name) => name.endsWith(SUFFIX))
    .flatMap((name) => versionOf(join(folder, name)) ?? []);
}

function versionOf(path: string): number | undefined {
  try {
    const file = openSync(path, 'r');
    try {
      const bytes = Buffer.alloc(4);
      readSync(file, bytes, 0, bytes.length, VERSION_AT);
      return bytes.readUInt32LE(0);
    } finally {
      closeSync(file);
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
