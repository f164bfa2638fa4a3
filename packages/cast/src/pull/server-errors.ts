import { reasonOf } from '../control/control-channel.js';
import { CastError, codeOf, toCastError } from '../errors.js';
import type { ServerFrameOf } from './frames.js';

/** Errors of a fetch that name the server, or of a cast that name the sender. */
export class ServerErrors {
  /** @param server `host:port` */
  constructor(
    private readonly role: 'server' | 'sender',
    private readonly server: string,
  ) {}

  aborted({ code, message }: ServerFrameOf<'abort'>): CastError {
    // ERR_RDMC_ABORTED is an abort of this end.
    const ours = code === 'ERR_RDMC_ABORTED' ? 'ERR_RDMC_SENDER_LOST' : code;
    return new CastError(ours, `the ${this.role} ${this.server}: ${message}`);
  }

  /** @param cause undefined where it has closed the connection */
  lost(cause: unknown): CastError {
    const message = `the ${this.role} ${this.server} was lost: ${reasonOf(cause)}`;
    return new CastError('ERR_RDMC_SENDER_LOST', message, { cause });
  }

  silent(limitMs: number): CastError {
    return new CastError(
      'ERR_RDMC_SENDER_LOST',
      `the ${this.role} ${this.server} has sent nothing for ${limitMs} ms`,
    );
  }

  notProved(): CastError {
    const message = `the server ${this.server} does not have the key that this key for fetching was made from; nothing was fetched`;
    return new CastError('ERR_RDMC_ORIGIN_NOT_PROVED', message);
  }

  /** An error without a code of ours comes from the connection. */
  from(error: unknown): CastError {
    if (error instanceof CastError) return error;
    return codeOf(error)?.startsWith('ERR_RDMC_')
      ? toCastError(error, 'ERR_RDMC_SENDER_LOST')
      : this.lost(error);
  }
}
