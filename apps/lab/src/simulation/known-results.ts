import { validate } from '@rdmc/simulator';

/** Compares the simulator with known results; how many there are. @throws SimulatorError ERR_RDMC_VALIDATION_FAILED */
export function knownResults(): number {
  return validate().reduce((sum, each) => sum + each.checks, 0);
}
