const LOOK_EVERY_MS = 500;

/**
 * Calls back once when the parent is gone, however it went: its IPC channel closes even on SIGKILL. The parent's
 * process id is looked at as well, for a channel that a forgotten descriptor keeps open.
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
  // It may have gone while this process was starting.
  if (!process.connected) setImmediate(tell);
  setInterval(() => {
    if (process.ppid !== parent) tell();
  }, LOOK_EVERY_MS).unref();
}
