import { type SimulationReport, simulate, simulateObjects, simulationBytes } from '@rdmc/simulator';
import { type Bench, type Runs, reproduceCommand, type Way } from '../catalogue/figure.js';
import type { Kind, Outcome } from '../record/record.js';
import { knownResults } from './known-results.js';

/** The reports under the same names. */
export class Reports {
  constructor(private readonly reports: ReadonlyMap<string, SimulationReport>) {}

  /** The report of the run that has this name. */
  of(name: string): SimulationReport {
    const found = this.reports.get(name);
    if (found === undefined) throw new Error(`No simulation is named '${name}'`);
    return found;
  }

  /** Its time in milliseconds. */
  milliseconds(name: string): number {
    return this.of(name).microseconds / 1000;
  }
}

/** A figure that the simulator gives. */
export interface Sweep {
  readonly figure: string;
  readonly kind: Kind;
  readonly how: string;
  readonly minutes: number;
  /** All simulations, known before the first one starts. */
  runs(): Runs;
  outcome(reports: Reports): Outcome;
}

/** The id of the ways that simulate a figure, and that their commands name. */
export const SIMULATED = 'simulated';

/** The way `simulated` of a figure. */
export function simulated(sweep: Sweep): Way {
  const { figure, kind, how, minutes } = sweep;
  const command = reproduceCommand(figure, SIMULATED);
  const run = (bench: Bench) => runSweep(sweep, bench);
  return {
    id: SIMULATED,
    name: 'simulator',
    kind,
    how,
    command,
    minutes,
    rivals: [],
    simulations: () => sweep.runs(),
    run,
  };
}

/**
 * Runs all simulations of a figure. The simulator is compared with known results first, and every run is checked
 * against the memory of this process before the first one starts.
 * @throws SimulatorError, for example ERR_RDMC_SIMULATION_TOO_LARGE
 */
export async function runSweep(sweep: Sweep, bench: Pick<Bench, 'say'>): Promise<Outcome> {
  const runs = sweep.runs();
  const bytes = Math.max(...[...runs.values()].map(simulationBytes));
  const checks = knownResults();
  bench.say(
    `${runs.size} simulations, the largest of about ${Math.ceil(bytes / 2 ** 20)} MiB; ` +
      `the simulator reproduced ${checks} known results`,
  );
  return sweep.outcome(await simulateAll(runs, bench));
}

/** Runs simulations one after the other. */
export async function simulateAll(runs: Runs, bench: Pick<Bench, 'say'>): Promise<Reports> {
  const reports = new Map<string, SimulationReport>();
  for (const [name, options] of runs) {
    const report = 'objects' in options ? simulateObjects(options) : simulate(options);
    reports.set(name, report);
    bench.say(`  ${reports.size} of ${runs.size}: ${name}: ${(report.microseconds / 1000).toFixed(3)} ms`);
    // Lets the terminal show it, and an interrupt end it.
    await new Promise((resolve) => setImmediate(resolve));
  }
  return new Reports(reports);
}
