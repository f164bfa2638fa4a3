import { errorTable, optionErrors, RdmcError } from '@rdmc/common';

export { AbortError, throwIfAborted } from '@rdmc/common';

/** Every code that a {@link DataPlaneError} can carry. They are stable; messages are not. */
export const dataPlaneErrors = errorTable({
  ...optionErrors,
  ERR_RDMC_DATAPLANE_START_FAILED: ['resource', 'the device or a protocol did not start', 'see the cause'],
  ERR_RDMC_DATAPLANE_DIED: ['internal', 'the worker died', 'see the cause; start another one'],
  ERR_RDMC_DATAPLANE_CLOSED: ['closed', 'it was closed before it answered', 'start another one'],
  ERR_RDMC_PROTOCOL_ENDED: ['internal', 'the protocol threw', 'see the cause; the others go on'],
  ERR_RDMC_PROTOCOL_TAKEN: ['usage', 'the protocol has a client', 'share that one'],
  ERR_RDMC_UNKNOWN_PROTOCOL: ['usage', 'no protocol of this name was started', 'name it in `protocols`'],
  ERR_RDMC_INVALID_PROTOCOL: ['usage', 'a record table or a module is not valid', 'the message says why'],
  ERR_RDMC_RECORD_TOO_LARGE: [
    'usage',
    'a record is longer than a quarter of the ring',
    'send less, or start with larger rings',
  ],
  ERR_RDMC_INVALID_COUNTERS: ['usage', 'this buffer has no counters', 'give `countersBuffer`'],
  ERR_RDMC_TOO_MANY_COUNTERS: ['usage', 'protocols made more than 64 counters', 'make fewer'],
  ERR_RDMC_WORKER: ['internal', 'a protocol threw an error without a code', 'see the message'],
});
export type DataPlaneErrorCode = keyof typeof dataPlaneErrors;

/** What this package throws and rejects with, beside `AbortError`. Tell cases apart by `code`. */
export class DataPlaneError<Code extends string = DataPlaneErrorCode> extends RdmcError<Code> {
  override readonly name: string = 'DataPlaneError';
}

/** A call was answered with what the protocol threw; `code` is the protocol's, and `category` that of the code. */
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
