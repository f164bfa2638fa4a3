// Labs of this process, and their removal when it ends: no namespace is left behind.

const SIGNALS: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP'];
const live = new Set<() => void>();

function removeAll(): void {
  for (const remove of live) {
    try {
      remove();
    } catch (error) {
      process.stderr.write(`netlab: ${error instanceof Error ? error.message : error}; run: netlab gc\n`);
    }
  }
  live.clear();
}

function onSignal(signal: NodeJS.Signals): void {
  // A program with its own handler decides whether it ends; if it does, `exit` below cleans up.
  if (process.listenerCount(signal) > 1) return;
  removeAll();
  process.removeListener(signal, onSignal);
  process.kill(process.pid, signal);
}

/** `remove` runs (synchronously) if the process ends before the returned function is called. */
export function removeAtExit(remove: () => void): () => void {
  if (live.size === 0) {
    process.on('exit', removeAll);
    for (const signal of SIGNALS) process.on(signal, onSignal);
  }
  live.add(remove);
  return () => {
    live.delete(remove);
    if (live.size > 0) return;
    process.removeListener('exit', removeAll);
    for (const signal of SIGNALS) process.removeListener(signal, onSignal);
  };
}
