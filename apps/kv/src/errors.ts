import { codeOf as codeOfThrown } from '@rdmc/common';

export { messageOf } from '@rdmc/common';

/** Every code a {@link KvError} can carry. They are stable; messages are not. */
export type KvErrorCode =
  | 'ERR_RDMC_KV_INVALID_OPTION'
  | 'ERR_RDMC_KV_INVALID_KEY'
  | 'ERR_RDMC_KV_UNPROTECTED'
  | 'ERR_RDMC_KV_PROTOCOL'
  | 'ERR_RDMC_KV_MEMBER_LOST'
  | 'ERR_RDMC_KV_COORDINATOR_LOST'
  | 'ERR_RDMC_KV_LEFT_BEHIND'
  | 'ERR_RDMC_KV_TAKEOVER_FAILED'
  | 'ERR_RDMC_KV_PROCESS_DIED'
  | 'ERR_RDMC_KV_DATA_LOST'
  | 'ERR_RDMC_KV_NOTHING_TO_SALVAGE'
  | 'ERR_RDMC_KV_FILES_MISSING'
  | 'ERR_RDMC_KV_CLOSED'
  | 'ERR_RDMC_ENTRY_TOO_LARGE';

/** What this package throws and rejects with. Tell cases apart by `code`. */
export class KvError extends Error {
  override readonly name = 'KvError';
  constructor(
    readonly code: KvErrorCode,
    message: string,
    options?: { cause?: unknown },
  ) {
    super(message, options);
  }
}

/** The code of anything thrown, here or at another member. */
export function codeOf(error: unknown): string {
  return codeOfThrown(error) ?? 'ERR_RDMC_KV_UNKNOWN';
}
