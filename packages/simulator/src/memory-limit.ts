import { totalmem } from 'node:os';
import { getHeapStatistics } from 'node:v8';
import { SimulatorError } from './errors.js';

/** What this process may use: the heap's limit, or the machine's memory if that is less. */
function memoryLimit(): number {
  const { heap_size_limit: heap, used_heap_size: used } = getHeapStatistics();
  return Math.min(heap - used, totalmem());
}

/** Before a simulation starts that needs so many bytes. @throws SimulatorError ERR_RDMC_SIMULATION_TOO_LARGE */
export function refuseLarger(needed: number, limit = memoryLimit()): void {
  if (needed <= limit) return;
  throw new SimulatorError(
    'ERR_RDMC_SIMULATION_TOO_LARGE',
    `The simulation needs about ${mebibytes(needed)} MiB, and this process may use ${mebibytes(limit)} MiB`,
  );
}

function mebibytes(bytes: number): number {
  return Math.ceil(bytes / 2 ** 20);
}
