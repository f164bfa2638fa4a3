import { AbortError } from './abort-error.js';
import { onAbort } from './on-abort.js';

/** When a wait ends: after a time, by a signal, or by the first of the two. */
export interface Limits {
  /** From now, in milliseconds, at most 2^31 − 1. Undefined or Infinity: no limit of time. */
  readonly timeoutMs?: number | undefined;
  /** Makes the error for the end of the time. */
  readonly late?: (timeoutMs: number) => unknown;
  /** Ends the wait with an error; undefined: no signal. */
  readonly signal?: AbortSignal | undefined;
  /** The subject of the AbortError: `The send`. Without it, the error is the signal's reason. */
  readonly what?: string | undefined;
  /** Whether the time keeps the process alive (default: yes). */
  readonly ref?: boolean;
}

/**
 * Calls back at most once, with the error, when a limit is reached. A signal that has aborted before calls back at once,
 * within the constructor. The caller clears a deadline: until then it holds a timer and a listener.
 */
export class Deadline {
  readonly #forget: (() => void) | undefined;
  #timer: NodeJS.Timeout | undefined;
  #over = false;

  constructor(
    limits: Limits,
    private readonly onEnd: (error: unknown) => void,
  ) {
    const { timeoutMs = Number.POSITIVE_INFINITY, late, signal, what } = limits;
    this.#forget = onAbort(signal, () => {
      this.#end(what === undefined ? signal!.reason : new AbortError(what, signal!));
    });
    if (this.#over || timeoutMs === Number.POSITIVE_INFINITY) return;
    this.#timer = setTimeout(() => this.#end(late?.(timeoutMs)), timeoutMs);
    if (limits.ref === false) this.#timer.unref();
  }

  /** It will not call back any more. Idempotent. */
  clear(): void {
    this.#over = true;
    clearTimeout(this.#timer);
    this.#forget?.();
  }

  #end(error: unknown): void {
    if (this.#over) return;
    this.clear();
    this.onEnd(error);
  }
}

/**
 * Settles as `promise` does, or rejects when a limit is reached before. What the promise does later is ignored, its
 * rejection included; the work behind it goes on.
 * @throws what `late` makes; AbortError, or the signal's reason where `what` is not given
 */
export function within<T>(promise: PromiseLike<T>, limits: Limits): Promise<T> {
  return new Promise((resolve, reject) => {
    const deadline = new Deadline(limits, reject);
    promise.then(resolve, reject).then(() => deadline.clear());
  });
}

/** Resolves when the promise has fulfilled or rejected, or after a time in milliseconds; with whether it had settled. */
export function settledWithin(
  promise: PromiseLike<unknown>,
  timeoutMs: number,
  { ref = true }: { readonly ref?: boolean } = {},
): Promise<boolean> {
  const settled = promise.then(
    () => true,
    () => true,
  );
  return within(settled, { timeoutMs, ref }).catch(() => false);
}

/** Resolves after so many milliseconds, or when the signal aborts. */
export function pause(timeoutMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    new Deadline({ timeoutMs, signal }, () => resolve());
  });
}
