import { totalmem } from 'node:os';
import { getHeapStatistics } from 'node:v8';
import { SimulatorError, validate } from '@rdmc/simulator';

const MIB = 2 ** 20;
/** Of each simulation of channels, or of a recovery. Chosen, as the others, so that estimates are rather too large. */
const FIXED = 32 * MIB;
const PER_DELIVERY = 24;
const PER_SLOT_OF_A_LINK = 1024;
const PER_PART_OF_A_SEGMENT = 4096;

/** Compares the simulator with known results; how many there are. @throws SimulatorError ERR_RDMC_VALIDATION_FAILED */
export function knownResults(): number {
  return validate().reduce((sum, each) => sum + each.checks, 0);
}

/** Bytes of memory for channels: links are pairs of a requester and a responder. */
export function channelBytes(links: number, messages: number, slots: number): number {
  return FIXED + links * (messages * PER_DELIVERY + slots * PER_SLOT_OF_A_LINK);
}

/** Bytes of memory for a recovery: each heir gets a part of each segment. */
export function recoveryBytes(segments: number, heirs: number): number {
  return FIXED + segments * heirs * PER_PART_OF_A_SEGMENT;
}

/** What this process may use: the heap's limit, or the machine's memory if that is less. */
function memoryLimit(): number {
  const { heap_size_limit: heap, used_heap_size: used } = getHeapStatistics();
  return Math.min(heap - used, totalmem());
}

/** Before a simulation starts, as `simulate` does it itself. @throws SimulatorError ERR_RDMC_SIMULATION_TOO_LARGE */
export function checkMemory(bytes: number, limit = memoryLimit()): void {
  if (bytes <= limit) return;
  const [needed, allowed] = [bytes, limit].map((each) => Math.ceil(each / MIB));
  throw new SimulatorError(
    'ERR_RDMC_SIMULATION_TOO_LARGE',
    `The simulation needs about ${needed} MiB, and this process may use ${allowed} MiB`,
  );
}
