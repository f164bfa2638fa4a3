import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ETC_DIR, NAMESPACE_DIR, PREFIX, STATE_DIR } from './constants.js';
import { NetlabError } from './errors.js';
import { hostsFile, hostTable, namespacesOf, type Plan } from './plan.js';
import { startTimeOf } from './processes.js';

const fileOf = (name: string, kind: 'json' | 'hosts') => join(STATE_DIR, `${name}.${kind}`);

/** Writes the lab's state. `first`: its name must be free. */
export function writeState(plan: Plan, first = false): void {
  mkdirSync(STATE_DIR, { recursive: true });
  const path = fileOf(plan.name, 'json');
  const text = `${JSON.stringify(plan, null, 1)}\n`;
  if (!first) {
    writeFileSync(`${path}.${process.pid}`, text);
    renameSync(`${path}.${process.pid}`, path);
    return;
  }
  try {
    writeFileSync(path, text, { flag: 'wx' });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    throw new NetlabError(
      'ERR_RDMC_NETLAB_NAME_TAKEN',
      `there is a lab ${plan.name} already: choose another name, or remove it: netlab down --lab ${plan.name}`,
      error,
    );
  }
}

/** The files that `ip netns exec` binds over /etc inside the hosts, and the table of `netlab-rsh`. */
export function writeHostFiles(plan: Plan): void {
  writeFileSync(fileOf(plan.name, 'hosts'), hostTable(plan));
  for (const host of plan.hosts) {
    mkdirSync(join(ETC_DIR, host.namespace), { recursive: true });
    writeFileSync(join(ETC_DIR, host.namespace, 'hosts'), hostsFile(plan));
  }
}

export function removeFiles(name: string, namespaces: readonly string[]): void {
  for (const namespace of namespaces) rmSync(join(ETC_DIR, namespace), { recursive: true, force: true });
  rmSync(fileOf(name, 'hosts'), { force: true });
  rmSync(fileOf(name, 'json'), { force: true });
}

export function readState(name: string): Plan | undefined {
  try {
    const plan = JSON.parse(readFileSync(fileOf(name, 'json'), 'utf8')) as Plan;
    return plan.version === 1 && plan.name === name ? plan : undefined;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT' || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function list(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

/** A lab, or the rest of one, on this machine. */
export interface FoundLab {
  readonly name: string;
  readonly namespaces: readonly string[];
  readonly plan: Plan | undefined;
  /** `detached` labs have no owner; an `orphan` has lost it. */
  readonly state: 'alive' | 'detached' | 'orphan';
}

function stateOf(name: string, plan: Plan | undefined): FoundLab['state'] {
  if (plan) {
    if (plan.owner === undefined) return 'detached';
    return startTimeOf(plan.owner.pid) === plan.owner.startTime ? 'alive' : 'orphan';
  }
  // A partial lab, without a state file: its name contains the id of its process.
  const pid = /(?:^|-)(\d+)(?:-\d+)?$/.exec(name)?.[1];
  return pid !== undefined && startTimeOf(Number(pid)) !== undefined ? 'alive' : 'orphan';
}

/** All labs, and the remains of former ones. */
export function findLabs(): FoundLab[] {
  const found = new Map<string, Set<string>>();
  for (const file of list(STATE_DIR)) {
    if (file.endsWith('.json')) found.set(file.slice(0, -5), new Set());
  }
  for (const name of [...list(NAMESPACE_DIR), ...list(ETC_DIR)]) {
    const [prefix, lab] = name.split('.');
    if (prefix !== PREFIX || lab === undefined) continue;
    found.set(lab, (found.get(lab) ?? new Set()).add(name));
  }
  return [...found].map(([name, seen]) => {
    const plan = readState(name);
    for (const namespace of plan ? namespacesOf(plan) : []) seen.add(namespace);
    return { name, plan, namespaces: [...seen], state: stateOf(name, plan) };
  });
}
