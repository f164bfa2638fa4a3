import { checkMemory } from './memory.js';
import {
  checkObjectOptions,
  checkOptions,
  type SimulateObjectsOptions,
  type SimulateOptions,
} from './options.js';
import type { SimulationReport } from './report.js';
import { run, type Simulation } from './simulation.js';

/**
 * Runs a multicast on simulated hardware: the state machines of `@rdmc/group`, each on a simulated NIC, link and thread.
 * Nothing is allocated for the message itself. A pure function of its options: the same seed gives the same trace.
 *
 * @throws SimulatorError ERR_RDMC_UNKNOWN_PRESET, ERR_RDMC_UNKNOWN_OPTION, ERR_RDMC_INVALID_OPTION,
 * ERR_RDMC_SIMULATION_TOO_LARGE (before it starts), ERR_RDMC_SIMULATION_STUCK; ScheduleError for a wrong schedule
 */
export function simulate(options: SimulateOptions): SimulationReport {
  const simulation = checkOptions(options);
  checkSize(simulation, options);
  return run(simulation);
}

/**
 * Sends objects of any lengths to groups of any members, one after the other: the next object starts when an earlier
 * one is complete at all its members. Objects with the same members are messages of one group, which exists before the
 * first object is sent. The same hardware and the same errors as those of {@link simulate}; `nodes` counts all nodes.
 * The report's `steps` are those of the first group's largest message, and there is no trace.
 */
export function simulateObjects(options: SimulateObjectsOptions): SimulationReport {
  const simulation = checkObjectOptions(options);
  checkSize(simulation, options);
  return run(simulation);
}

/**
 * Bytes of memory that {@link simulate} or {@link simulateObjects} needs for these options, as an estimate that is rather
 * too large. Checks the options and the limit as those do, and starts nothing.
 *
 * @throws SimulatorError, ScheduleError as {@link simulate}
 */
export function simulationBytes(options: SimulateOptions | SimulateObjectsOptions): number {
  return checkSize('objects' in options ? checkObjectOptions(options) : checkOptions(options), options);
}

function checkSize(
  { groups, traces, records }: Simulation,
  limits: { readonly memoryLimitBytes?: number | undefined },
): number {
  return checkMemory(groups, { traces, records }, limits.memoryLimitBytes);
}
