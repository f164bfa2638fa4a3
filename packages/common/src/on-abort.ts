/**
 * Calls back once when the signal aborts, at once where it has aborted already. Returns a function that ends this, so that
 * a signal which outlives what waits for it holds nothing of that.
 */
export function onAbort(signal: AbortSignal | undefined, listener: () => void): () => void {
  if (signal === undefined) return () => {};
  if (signal.aborted) {
    listener();
    return () => {};
  }
  signal.addEventListener('abort', listener, { once: true });
  return () => signal.removeEventListener('abort', listener);
}
