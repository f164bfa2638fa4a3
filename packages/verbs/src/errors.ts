/** Every error of this package: a stable `code`, and where the kernel was asked, `errno` and `syscall`. */
export class VerbsError extends Error {
  override readonly name: string = 'VerbsError';
  readonly code: string;
  readonly errno?: number;
  readonly syscall?: string;

  constructor(
    code: string,
    message: string,
    details: { errno?: number; syscall?: string; cause?: unknown } = {},
  ) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    if (details.errno !== undefined) this.errno = details.errno;
    if (details.syscall !== undefined) this.syscall = details.syscall;
  }
}

/** A work request refused when it was posted; nothing of it was or will be done. */
export class PostError extends VerbsError {
  override readonly name = 'PostError';
  constructor(
    code: string,
    message: string,
    /** Position of the first refused request in the batch; those before it were accepted. */
    readonly index: number,
    /** The device's reason, one of `PostResult`; 0 where it was refused before it reached the device. */
    readonly result = 0,
  ) {
    super(code, message);
  }
}
