import { errorTable, RdmcError } from '@rdmc/common';

/** Every code that a {@link ComplianceError} can carry. They are stable; messages are not. */
export const complianceErrors = errorTable({
  ERR_RDMC_COMPLIANCE_SPEC: ['usage', 'the spec has an unknown name', 'use one that the message lists'],
  ERR_RDMC_COMPLIANCE_TIMEOUT: [
    'timeout',
    'an expected event did not happen in time',
    'the device is wrong; the message says what happened',
  ],
  ERR_RDMC_COMPLIANCE_PEER: ['internal', 'a peer threw an error without a code', 'read its message'],
  ERR_RDMC_COMPLIANCE_PEER_GONE: ['peer-lost', 'a peer ended during a call', 'read its last output'],
});
/** The stable codes of this package's errors; `complianceErrors` has their meaning. */
export type ComplianceErrorCode = keyof typeof complianceErrors;

/** The suite's own errors. Distinguish cases by `code`. */
export class ComplianceError extends RdmcError<ComplianceErrorCode> {
  override readonly name = 'ComplianceError';
}

/** An error in a message from a peer to the test. */
export interface ErrorRecord {
  readonly name: string;
  readonly message: string;
  readonly code?: string;
  readonly index?: number;
}

/** An error thrown in a peer, rebuilt here: the error of the peer's device, with its code and index. */
export class PeerError extends RdmcError {
  override readonly name: string;
  /** Position in the batch, if the device refused a work request. */
  readonly index: number | undefined;
  constructor(record: ErrorRecord) {
    super(record.code ?? 'ERR_RDMC_COMPLIANCE_PEER', record.message);
    this.name = record.name;
    this.index = record.index;
  }
}

/** The parts of an error that are sent to another process. */
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
