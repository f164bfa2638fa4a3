import { checkMemory, memoryLimit } from './memory.js';
import { checkOptions, type SimulateOptions } from './options.js';
import type { SimulationReport } from './report.js';
import { run } from './simulation.js';

/**
 * Runs a multicast on simulated hardware: the state machines of `@rdmc/group`, each on a simulated NIC, link and thread.
 * Nothing is allocated for the message itself. A pure function of its options: the same seed gives the same trace.
 *
 * @throws SimulatorError ERR_RDMC_UNKNOWN_PRESET, ERR_RDMC_UNKNOWN_OPTION, ERR_RDMC_INVALID_OPTION,
 * ERR_RDMC_SIMULATION_TOO_LARGE (before it starts), ERR_RDMC_SIMULATION_STUCK; ScheduleError for a wrong schedule
 */
export function simulate(options: SimulateOptions): SimulationReport {
  const simulation = checkOptions(options);
  checkMemory(simulation.groups, simulation.traces, options.memoryLimitBytes ?? memoryLimit());
  return run(simulation);
}
