const CHECK_INTERVAL_MS = 500;

/**
 * Calls back once when the parent has ended in any way: its IPC channel closes even on SIGKILL. The parent's process id
 * is checked as well, in case a leaked descriptor keeps the channel open.
 */
export function onParentGone(listener: () => void): void {
  const parent = process.ppid;
  let gone = false;
  const tell = (): void => {
    if (gone) return;
    gone = true;
    listener();
  };
  process.once('disconnect', tell);
  // It may have ended while this process was starting.
  if (!process.connected) setImmediate(tell);
  setInterval(() => {
    if (process.ppid !== parent) tell();
  }, CHECK_INTERVAL_MS).unref();
}
