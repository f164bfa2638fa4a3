import { readShape } from '@rdmc/common/shapes';
import type { Command } from 'commander';
import { clusterStatus } from '../admin/status.js';
import { connect } from '../client/connect.js';
import { SLOTS } from '../limits.js';
import type { ClusterAccess } from '../snapshot/cluster-access.js';
import { restoreSnapshot } from '../snapshot/restore.js';
import { takeSnapshot } from '../snapshot/take.js';
import { type AdminFlags, accessOptions, askCluster } from './ask-cluster.js';
import type { Tell } from './tell.js';

const MIB = 1024 * 1024;

const SNAPSHOT_HELP = `
The command connects to every server, as clients do, and copies their slots into files of the directory, which must be empty or
new. Clients are served meanwhile: each key is copied as it is at one moment, and moments differ from key to key. Keys that were
removed are not in the snapshot, and a slot that moves to another server meanwhile is copied once. The file snapshot.json is
written last: a directory without it is not a snapshot.

  kv admin snapshot /backup/2026-11-24 --connect 10.0.0.1:6379
  kv admin restore /backup/2026-11-24 --connect 10.1.0.1:6379

Exit codes: 0 the snapshot is whole and on the disk; 1 an error, and the directory is empty
`;

const RESTORE_HELP = `
The command writes the keys of a snapshot into a cluster that runs and does not have keys, with any number of servers. Before that
it reads the whole snapshot, and compares it with its checksums. Keys keep the moments at which they expire; keys that have expired
are left out. A write that cannot be done now is tried again, for up to a minute.

  kv admin restore /backup/2026-11-24 --connect 10.1.0.1:6379

Exit codes: 0 every key is acknowledged; 1 an error: keys may be there if it is ERR_RDMC_KV_RESTORE_REFUSED
`;

/** `kv admin snapshot` and `kv admin restore`. */
export function addSnapshotCommands(
  admin: Command,
  connectOptions: (command: Command) => Command,
  tell: Tell,
): void {
  const snapshot = admin
    .command('snapshot')
    .description('copies all keys into files of a directory, while the cluster is used')
    .argument('<directory>', 'where the snapshot is made; empty, or new')
    .addHelpText('after', SNAPSHOT_HELP);
  connectOptions(snapshot).action((directory: string, flags: AdminFlags) =>
    runSnapshot(directory, flags, tell),
  );
  const restore = admin
    .command('restore')
    .description('writes the keys of a snapshot into an empty cluster of any size')
    .argument('<directory>', 'of the snapshot')
    .addHelpText('after', RESTORE_HELP);
  connectOptions(restore).action((directory: string, flags: AdminFlags) =>
    runRestore(directory, flags, tell),
  );
}

async function runSnapshot(directory: string, flags: AdminFlags, tell: Tell): Promise<void> {
  const line = new ProgressLine();
  const result = await takeSnapshot(accessOf(flags), directory, ({ slots, bytes }) =>
    line.show(`${percent(slots)} of the slots, ${(bytes / MIB).toFixed(1)} MiB`),
  ).finally(() => line.end());
  const { keys, bytes, files, milliseconds } = result;
  const text = `${keys} keys in ${files} files, ${(bytes / MIB).toFixed(1)} MiB, in ${(milliseconds / 1000).toFixed(1)} s: ${directory}`;
  tell(flags.json ? JSON.stringify(result) : text, { snapshot: result });
}

async function runRestore(directory: string, flags: AdminFlags, tell: Tell): Promise<void> {
  const line = new ProgressLine();
  const result = await restoreSnapshot(accessOf(flags), directory, ({ slots, keys }) =>
    line.show(`${percent(slots)} of the slots, ${keys} keys`),
  ).finally(() => line.end());
  const { keys, expired, milliseconds } = result;
  const over = expired > 0 ? `; ${expired} had expired` : '';
  const text = `${keys} keys were restored in ${(milliseconds / 1000).toFixed(1)} s${over}`;
  tell(flags.json ? JSON.stringify(result) : text, { restored: result });
}

function accessOf(flags: AdminFlags): ClusterAccess {
  const options = accessOptions(flags);
  return {
    status: async () => readShape(clusterStatus, await askCluster(flags, ['STATUS'])),
    connect: (endpoint) => connect(endpoint, options),
  };
}

function percent(slots: number): string {
  return `${Math.floor((100 * slots) / SLOTS)}%`;
}

/** One line of a terminal that changes; nothing elsewhere. */
class ProgressLine {
  #shownAt = Number.NEGATIVE_INFINITY;

  show(text: string): void {
    const now = performance.now();
    if (!process.stderr.isTTY || now - this.#shownAt < SHOW_EVERY_MS) return;
    this.#shownAt = now;
    process.stderr.write(`\r${text.padEnd(SHOWN_CHARACTERS)}`);
  }

  end(): void {
    if (this.#shownAt > 0) process.stderr.write(`\r${' '.repeat(SHOWN_CHARACTERS)}\r`);
  }
}

const SHOW_EVERY_MS = 200;
const SHOWN_CHARACTERS = 60;
