/** Waits for a promise, or for the end of the log: what a worker that died was to report never comes. */
export async function untilEnded<T>(promise: Promise<T>, ended: AbortSignal): Promise<T> {
  // Where the log has ended already, nobody else looks at it.
  promise.catch(() => {});
  ended.throwIfAborted();
  let stop = (): void => {};
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(ended.reason);
    ended.addEventListener('abort', stop, { once: true });
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    ended.removeEventListener('abort', stop);
  }
}
