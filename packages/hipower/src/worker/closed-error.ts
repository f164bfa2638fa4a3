import { HiPowerError } from '../errors.js';

/** What was asked for belongs to a channel or a connection that is gone by now. */
export class ClosedError extends HiPowerError {
  constructor(message: string) {
    super('ERR_RDMC_HIPOWER_CLOSED', message);
  }
}
