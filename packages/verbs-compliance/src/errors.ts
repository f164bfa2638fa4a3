import { errorTable, RdmcError } from '@rdmc/common';

/** Every code that a {@link ComplianceError} can carry. They are stable; messages are not. */
export const complianceErrors = errorTable({
  ERR_RDMC_COMPLIANCE_SPEC: ['usage', 'the spec names something unknown', 'take what the message lists'],
  ERR_RDMC_COMPLIANCE_TIMEOUT: [
    'timeout',
    'what a test waits for did not come',
    'see what did come: the device is at fault',
  ],
  ERR_RDMC_COMPLIANCE_PEER: ['internal', 'a peer threw an error without a code', 'see its message'],
  ERR_RDMC_COMPLIANCE_PEER_GONE: ['peer-lost', 'a peer ended during a call', 'see what it printed last'],
});
export type ComplianceErrorCode = keyof typeof complianceErrors;

/** What the suite itself finds wrong. Tell cases apart by `code`. */
export class ComplianceError extends RdmcError<ComplianceErrorCode> {
  override readonly name = 'ComplianceError';
}

/** An error as it travels from a peer to the test. */
export interface ErrorRecord {
  readonly name: string;
  readonly message: string;
  readonly code?: string;
  readonly index?: number;
}

/** An error thrown in a peer, rebuilt here: what the peer's device said, with its code and index. */
export class PeerError extends RdmcError {
  override readonly name: string;
  /** Position in the batch, where the device refused a work request. */
  readonly index: number | undefined;
  constructor(record: ErrorRecord) {
    super(record.code ?? 'ERR_RDMC_COMPLIANCE_PEER', record.message);
    this.name = record.name;
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
