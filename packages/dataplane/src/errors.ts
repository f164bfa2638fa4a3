/** Every error of this package has a stable `code`; the README lists them. */
export class DataPlaneError extends Error {
  override readonly name: string = 'DataPlaneError';
  readonly code: string;

  constructor(code: string, message: string, details: { cause?: unknown } = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
  }
}

/** A call was answered with what the protocol threw; `code` is the protocol's. */
export class ProtocolError extends DataPlaneError {
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
