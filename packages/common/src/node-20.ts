// Everything that is here only because of Node.js 20: when it is no longer supported, callers use AbortSignal.any.

/** What a combined signal waits for, as long as the combined signal is there. */
const sources = new WeakMap<AbortSignal, readonly AbortSignal[]>();

/**
 * `AbortSignal.any`, whose time-outs do not get lost: on Node 20 it holds its sources weakly, so an
 * `AbortSignal.timeout` that nobody else holds is collected, and never aborts anything.
 */
export function anySignal(...signals: readonly AbortSignal[]): AbortSignal {
  const any = AbortSignal.any([...signals]);
  sources.set(any, signals);
  return any;
}
