import { WriterThread } from './receiver/writer-thread.js';
import type { RemovedKept } from './resume/kept-data.js';

/**
 * Removes what interrupted casts have left in a receiving directory. A cast in progress there continues; it sends again what
 * it has not taken yet.
 *
 * @param directory where files are stored
 * @returns the number of casts that had left something, its bytes on disk, and what stays
 * @throws CastError ERR_RDMC_NOT_FOUND, ERR_RDMC_NOT_A_DIRECTORY, ERR_RDMC_PERMISSION, ERR_RDMC_READ_ONLY,
 *   ERR_RDMC_WRITE_FAILED
 */
export async function removeKept(directory: string): Promise<RemovedKept> {
  const thread = new WriterThread();
  try {
    return await thread.removeKept(directory);
  } finally {
    await thread.end();
  }
}
