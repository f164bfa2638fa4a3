/** Every error of this package; `code` is stable, and errors of a peer keep the code they had there. */
export class ComplianceError extends Error {
  override readonly name: string = 'ComplianceError';
  constructor(
    /** ERR_RDMC_COMPLIANCE_SPEC, ERR_RDMC_COMPLIANCE_TIMEOUT or ERR_RDMC_COMPLIANCE_PEER_GONE. */
    readonly code: string,
    message: string,
    options?: { cause?: unknown },
  ) {
    super(message, options);
  }
}

/** An error as it travels from a peer to the test. */
export interface ErrorRecord {
  readonly name: string;
  readonly message: string;
  readonly code?: string;
  readonly index?: number;
}

/** An error thrown in a peer, rebuilt here: what the peer's device said, with its code and index. */
export class PeerError extends Error {
  override readonly name: string;
  readonly code: string | undefined;
  /** Position in the batch, where the device refused a work request. */
  readonly index: number | undefined;
  constructor(record: ErrorRecord) {
    super(record.message);
    this.name = record.name;
    this.code = record.code;
    this.index = record.index;
  }
}

/** What of an error is worth carrying to another process. */
export function recordOf(error: unknown): ErrorRecord {
  if (!(error instanceof Error)) return { name: 'Error', message: String(error) };
  const { code, index } = error as { code?: unknown; index?: unknown };
  return {
    name: error.name,
    message: error.message,
    ...(typeof code === 'string' ? { code } : {}),
    ...(typeof index === 'number' ? { index } : {}),
  };
}
