// Everything that is here only because of older versions of Node.js. When 20 is no longer supported, callers use
// AbortSignal.any; when 22 is not, times of files need no correction that depends on the version.

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

/** Node.js 20 and 22 truncate times of files towards zero, to microseconds. Newer ones keep what the double has. */
export const truncatesFileTimes = Number.parseInt(process.versions.node, 10) < 24;
