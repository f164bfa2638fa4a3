/** Every code a {@link MemberError} can carry. They are stable; messages are not. */
export type MemberErrorCode =
  | 'ERR_RDMC_INVALID_OPTION'
  | 'ERR_RDMC_UNKNOWN_OPTION'
  | 'ERR_RDMC_DEVICE_MISMATCH';

export interface MemberErrorDetails {
  /** The member the error is about. */
  readonly memberId?: number;
  /** What the members disagree on: 'device', 'transport' or 'host'. */
  readonly field?: string;
}

/** What joining a cluster throws beside the errors of the mesh, the device and the data plane. Tell cases apart by `code`. */
export class MemberError extends Error {
  override readonly name = 'MemberError';
  readonly memberId: number | undefined;
  readonly field: string | undefined;

  constructor(
    readonly code: MemberErrorCode,
    message: string,
    details: MemberErrorDetails = {},
  ) {
    super(message);
    this.memberId = details.memberId;
    this.field = details.field;
  }
}
