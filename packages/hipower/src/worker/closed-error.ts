import { HiPowerError } from '../errors.js';

/** The call is for a channel or a connection that was closed meanwhile. */
export class ClosedError extends HiPowerError {
  constructor(message: string) {
    super('ERR_RDMC_HIPOWER_CLOSED', message);
  }
}
