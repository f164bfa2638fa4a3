import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { NAMESPACE_DIR } from './constants.js';
import { killAll } from './processes.js';
import { findLabs, removeFiles } from './state.js';
import { runSync } from './tools.js';

/**
 * Kills every process in these namespaces, removes the namespaces (with them their links, bridges and queues)
 * and the lab's files. It blocks, so that it can run when the process ends.
 */
export function removeLab(name: string, namespaces: readonly string[], pids: readonly number[] = []): void {
  killAll(namespaces, pids);
  const present = namespaces.filter((each) => existsSync(join(NAMESPACE_DIR, each)));
  if (present.length > 0) {
    const lines = present.map((each) => `netns del ${each}\n`).join('');
    const error = runSync(['ip', '-force', '-batch', '-'], lines);
    // Another process may remove the same lab at the same time; the lab only has to be removed in the end.
    if (error && present.some((each) => existsSync(join(NAMESPACE_DIR, each)))) throw error;
  }
  removeFiles(name, namespaces);
}

/**
 * Removes labs whose process has ended (killed, crashed), and with `detached` also the labs that
 * outlive their process. Labs in use are not touched. Returns the names of the removed labs.
 */
export function collectGarbage(options: { readonly detached?: boolean } = {}): string[] {
  const dead = findLabs().filter(
    (lab) => lab.state === 'orphan' || (lab.state === 'detached' && options.detached === true),
  );
  for (const lab of dead) removeLab(lab.name, lab.namespaces);
  return dead.map((lab) => lab.name);
}
