interface Closable {
  close(): Promise<void>;
}

/**
 * Starts two operations that are only useful together: if either fails, the other is aborted. Rejects with the first failure,
 * when everything is closed.
 */
export async function beginBoth<First extends Closable, Second extends Closable>(
  begin: (signal: AbortSignal) => readonly [Promise<First>, Promise<Second>],
): Promise<readonly [First, Second]> {
  const ended = new AbortController();
  let cause: unknown;
  const failed = (error: unknown): void => {
    if (!ended.signal.aborted) cause = error;
    ended.abort(error);
  };
  const both = begin(ended.signal);
  for (const one of both) one.catch(failed);
  const [first, second] = await Promise.allSettled(both);
  if (first.status === 'fulfilled' && second.status === 'fulfilled') return [first.value, second.value];
  // It fails while it closes, because the others have left.
  if (first.status === 'fulfilled') await first.value.close().catch(() => {});
  if (second.status === 'fulfilled') await second.value.close().catch(() => {});
  throw cause;
}
