import { errorTable, optionErrors, RdmcError } from '@rdmc/common/errors';

/** Every code that a {@link SimulatorError} can carry. They are stable; messages are not. */
export const simulatorErrors = errorTable({
  ...optionErrors,
  ERR_RDMC_UNKNOWN_PRESET: ['usage', 'no preset has this name', 'take one of those that the message lists'],
  ERR_RDMC_SIMULATION_TOO_LARGE: [
    'resource',
    'the simulation needs more memory than this process may use',
    'use fewer members or blocks, no trace, or a larger --max-old-space-size',
  ],
  ERR_RDMC_SIMULATION_STUCK: [
    'internal',
    'the simulated group did not finish, or left something in a queue',
    'report it with the options and the seed',
  ],
  ERR_RDMC_VALIDATION_FAILED: [
    'internal',
    'the simulator does not reproduce a known result',
    'do not use its figures; report it',
  ],
});
/** The stable codes of this package's errors; `simulatorErrors` has their meaning. */
export type SimulatorErrorCode = keyof typeof simulatorErrors;

/** The error of this package. Tell cases apart by `code`, never by the message. */
export class SimulatorError extends RdmcError<SimulatorErrorCode> {
  override readonly name = 'SimulatorError';
}
