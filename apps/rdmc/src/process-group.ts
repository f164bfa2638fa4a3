import type { ChildProcess } from 'node:child_process';
import { settledWithin } from '@rdmc/common';

/** Sends a signal to a process that was started with `detached`, and to the children in its process group. */
export function signalGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch {
    // The group does not have a process any more.
  }
}

/**
 * Ends a process that was started with `detached`, with its children: by SIGTERM, then by SIGKILL. A child may ignore
 * SIGTERM, so SIGKILL is sent also if the process itself has ended.
 * @param ended resolves when the process has ended
 * @param graceMs time between the two signals, in milliseconds, unless the process ends before
 */
export async function endGroup(child: ChildProcess, ended: Promise<void>, graceMs: number): Promise<void> {
  signalGroup(child, 'SIGTERM');
  await settledWithin(ended, graceMs);
  signalGroup(child, 'SIGKILL');
  await ended;
}
