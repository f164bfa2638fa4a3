import { DEVICE_REMOVED, HiPowerError, hiPowerCode, messageOf, type Progress } from './errors.js';

/** What ends the requester of a channel, in words that name it and say how far it had come. */
export class RequesterErrors {
  constructor(
    private readonly channel: string,
    private readonly progress: () => Progress[],
  ) {}

  closed(): HiPowerError {
    return new HiPowerError('ERR_RDMC_HIPOWER_CLOSED', `Requester '${this.channel}' is closed`);
  }

  workerDied(cause: Error): HiPowerError {
    return new HiPowerError('ERR_RDMC_DATAPLANE_DIED', `Requester '${this.channel}': ${cause.message}`, {
      cause,
    });
  }

  /** Of this side. */
  deviceRemoved(): HiPowerError {
    const message = `Requester '${this.channel}': ${DEVICE_REMOVED}`;
    return new HiPowerError('ERR_RDMC_DEVICE_REMOVED', message, {
      reason: DEVICE_REMOVED,
      progress: this.progress(),
    });
  }

  /** The sides were not given the same options. */
  refused(from: number, code: string, field: string, reason: string): HiPowerError {
    const message = `Requester '${this.channel}': responder ${from}: ${reason}`;
    return new HiPowerError(hiPowerCode(code), message, { memberId: from, reason, field });
  }

  /** No connection lasts. */
  lost(reason: string, cause?: unknown): HiPowerError {
    return new HiPowerError(
      'ERR_RDMC_HIPOWER_CONNECTION_LOST',
      `Requester '${this.channel}': the connection broke again and again without a slot released: ${reason}`,
      { reason, progress: this.progress(), ...(cause !== undefined && { cause }) },
    );
  }

  /** Anything that connecting may end with. */
  of(cause: unknown): HiPowerError {
    if (cause instanceof HiPowerError) return cause;
    return new HiPowerError(
      'ERR_RDMC_HIPOWER_CONNECTION_LOST',
      `Requester '${this.channel}': ${messageOf(cause)}`,
      { cause, progress: this.progress() },
    );
  }

  /** A responder is to blame. */
  by(memberId: number | undefined, code: string, what: string, reason: string): HiPowerError {
    const progress = this.progress();
    const account = progress.map(
      ({ memberId: id, delivered, released }) =>
        `of ${delivered} slots written to ${id}, ${released} are known to be consumed`,
    );
    const message = `Requester '${this.channel}': ${what}; ${account.join('; ')}`;
    const who = memberId === undefined ? {} : { memberId };
    return new HiPowerError(hiPowerCode(code), message, { ...who, reason, progress });
  }
}
