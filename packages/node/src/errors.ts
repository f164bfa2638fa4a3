/** Every code a {@link NodeError} can carry. They are stable; messages are not. */
export type NodeErrorCode =
  | 'ERR_RDMC_INVALID_OPTION'
  | 'ERR_RDMC_UNKNOWN_OPTION'
  | 'ERR_RDMC_DUPLICATE_PROTOCOL'
  | 'ERR_RDMC_DEVICE_MISMATCH'
  | 'ERR_RDMC_PROTOCOL_MISMATCH';

export interface NodeErrorDetails {
  /** The member the error is about. */
  readonly memberId?: number;
  /** What the members disagree on: 'device', 'transport', 'host', or the name of a protocol. */
  readonly field?: string;
}

/** What joining a cluster throws beside the errors of the mesh, the device and the data plane. Tell cases apart by `code`. */
export class NodeError extends Error {
  override readonly name = 'NodeError';
  readonly memberId: number | undefined;
  readonly field: string | undefined;

  constructor(
    readonly code: NodeErrorCode,
    message: string,
    details: NodeErrorDetails = {},
  ) {
    super(message);
    this.memberId = details.memberId;
    this.field = details.field;
  }
}
