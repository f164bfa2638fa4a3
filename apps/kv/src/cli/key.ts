import { readFileSync } from 'node:fs';

/** The cluster key: from a file, or from the variable RDMC_KEY. */
export function clusterKey(file: string | undefined): string | undefined {
  if (file !== undefined) return readFileSync(file, 'utf8').trim();
  return process.env.RDMC_KEY;
}
