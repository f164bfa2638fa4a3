import { errorTable, optionErrors, RdmcError } from '@rdmc/common';

export { AbortError, throwIfAborted } from '@rdmc/common';

/** Every code that a {@link DataPlaneError} can carry. They are stable; messages are not. */
export const dataPlaneErrors = errorTable({
  ...optionErrors,
  ERR_RDMC_DATAPLANE_START_FAILED: ['resource', 'the device or a protocol did not start', 'see the cause'],
  ERR_RDMC_DATAPLANE_DIED: ['internal', 'the worker died', 'see the cause; start another data plane'],
  ERR_RDMC_DATAPLANE_CLOSED: ['closed', 'the data plane is closed', 'start another one'],
  ERR_RDMC_PROTOCOL_ENDED: ['internal', 'the protocol threw', 'see the cause; the other protocols continue'],
  ERR_RDMC_PROTOCOL_TAKEN: ['usage', 'the protocol already has a client', 'share that client'],
  ERR_RDMC_UNKNOWN_PROTOCOL: ['usage', 'no protocol of this name was started', 'name it in `protocols`'],
  ERR_RDMC_INVALID_PROTOCOL: ['usage', 'a record table or a module is not valid', 'the message says why'],
  ERR_RDMC_RECORD_TOO_LARGE: [
    'usage',
    'a record is longer than a quarter of the ring',
    'send less, or start with larger rings',
  ],
  ERR_RDMC_INVALID_COUNTERS: ['usage', 'the buffer does not have counters', 'give `countersBuffer`'],
  ERR_RDMC_TOO_MANY_COUNTERS: ['usage', 'protocols created more than 64 counters', 'create fewer'],
  ERR_RDMC_INVALID_TRACE: [
    'usage',
    'the file is not a trace of this version, or damaged',
    'the message says where',
  ],
  ERR_RDMC_TRACE_CUT: ['usage', 'a trace ends early', 'read the valid part with `partial`'],
  ERR_RDMC_TRACE_WRITE: ['resource', 'the trace could not be written', 'the message says why'],
  ERR_RDMC_WORKER: ['internal', 'a protocol threw an error without a code', 'see the message'],
});
/** The stable codes of this package's errors; `dataPlaneErrors` has their meaning. */
export type DataPlaneErrorCode = keyof typeof dataPlaneErrors;

/** The error of this package, beside `AbortError`. Tell cases apart by `code`. */
export class DataPlaneError<Code extends string = DataPlaneErrorCode> extends RdmcError<Code> {
  override readonly name: string = 'DataPlaneError';
}

/** The error that a protocol threw in a call; `code` is that of the protocol, and `category` that of the code. */
export class ProtocolError extends DataPlaneError<string> {
  override readonly name = 'ProtocolError';
}

/** Code and message of any thrown value. */
export function errorFacts(thrown: unknown): { readonly code: string; readonly message: string } {
  const { code, message } = (thrown ?? {}) as { code?: unknown; message?: unknown };
  return {
    code: typeof code === 'string' ? code : 'ERR_RDMC_WORKER',
    message: typeof message === 'string' ? message : String(thrown),
  };
}

/** A short text for any thrown value. */
export function describe(thrown: unknown): string {
  return thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : String(thrown);
}
