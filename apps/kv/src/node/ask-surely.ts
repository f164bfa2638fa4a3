import { setTimeout as delay } from 'node:timers/promises';
import { codeOf } from '../errors.js';
import { BACKUPS_WAIT_MS, REGISTER_RETRY_MS } from '../limits.js';

/** The coordinator changes, or its state is out of reach for a while. Other refusals are final. */
const PASSING: readonly string[] = [
  'ERR_RDMC_COORDINATOR_STALE',
  'ERR_RDMC_COORDINATOR_CLOSED',
  'ERR_RDMC_STATE_LOST',
  'ERR_RDMC_STATE_CLOSED',
  'ERR_RDMC_STATE_UNREACHABLE',
  'ERR_RDMC_MESH_MEMBER_LOST',
  'ERR_RDMC_MESH_MEMBER_LEFT',
  'ERR_RDMC_MESH_MEMBER_SILENT',
  'ERR_RDMC_MESH_REQUEST_TIMEOUT',
];

/** Whether another coordinator, or the same one later, may answer. */
export function isPassing(error: unknown): boolean {
  return PASSING.includes(codeOf(error));
}

/** Asks a coordinator, and the ones that follow it, until one answers. @throws other refusals, and the last one when it is late */
export async function askSurely<T>(ask: () => Promise<T>, timeoutMs = BACKUPS_WAIT_MS): Promise<T> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (!isPassing(error) || performance.now() >= deadline) throw error;
    }
    await delay(REGISTER_RETRY_MS);
  }
}
