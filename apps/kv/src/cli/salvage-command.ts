import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { KvError } from '../errors.js';
import { openStore } from '../node/coordinator-store.js';
import { salvage } from '../salvage/salvage.js';
import { salvageText } from '../salvage/text.js';
import { serverIds } from '../values.js';
import { type CoordinatorStateFlags, coordinatorStateOptions } from './state-options.js';
import type { Tell } from './tell.js';

/** Exit code: entries are missing, and nothing was changed. */
const EXIT_INCOMPLETE = 3;

interface SalvageFlags extends CoordinatorStateFlags {
  readonly directory: string;
  readonly without?: readonly number[];
  readonly acceptLoss?: boolean;
  readonly json?: boolean;
}

const HELP = `
After a kill -9 of all processes, or a loss of power, the last writes were only in memory: the coordinator reports
ERR_RDMC_LOG_INCOMPLETE at each start, and the slots stay without a server. End all members, and run this command on the
host of the coordinator. It reads the coordinator's state and the servers' files, and lists the keys that can be
recovered, their files, and the missing entries. Copy or mount the directories of servers on other hosts, and give them
as arguments.

  kv salvage --directory /var/lib/kv /mnt/host2/kv /mnt/host3/kv

It locks the directories meanwhile, so it must be able to write there. Without --accept-loss it does not change them.
With --accept-loss, the next start of all members recovers exactly the listed entries, and the missing ones are given up for
ever. Before that, keep a copy of all directories.

Exit codes: 0 nothing is missing, or the loss was accepted (now, or by an earlier run); 3 entries are missing, and nothing
was changed; 1 an error; 2 wrong use: the message says what to change
`;

export function addSalvageCommand(program: Command, tell: Tell): void {
  const command = program
    .command('salvage')
    .description(
      'lists the keys that can be recovered of a cluster whose processes were all killed, and allows a start with them',
    )
    .argument('[directories...]', 'directories of servers on other hosts, or copies of them')
    .option('-d, --directory <path>', "the coordinator's directory", './kv-data')
    .option('--without <ids>', 'servers whose files are lost, with commas', serverIds)
    .option('--accept-loss', 'give up the missing entries; the next start serves the others')
    .option('--json', 'one JSON document instead of text')
    .addHelpText('after', HELP);
  coordinatorStateOptions(command).action((more: string[], flags: SalvageFlags) => run(more, flags, tell));
}

async function run(more: readonly string[], flags: SalvageFlags, tell: Tell): Promise<void> {
  const directory = join(flags.directory, 'coordinator');
  const file = join(directory, 'state');
  if (!flags.etcd && !existsSync(file)) {
    throw new KvError(
      'ERR_RDMC_KV_NOTHING_TO_SALVAGE',
      `the coordinator's state ${file} does not exist: give the coordinator's directory with --directory, or with ` +
        '--etcd the endpoints of its state',
    );
  }
  const store = await openStore({ ...flags, directory });
  try {
    const report = await salvage(store, {
      place: flags.etcd ? flags.etcd.join(',') : file,
      roots: [...new Set([flags.directory, ...more])],
      without: flags.without ?? [],
      acceptLoss: flags.acceptLoss ?? false,
    });
    tell(flags.json ? JSON.stringify(report) : salvageText(report), report);
    if (report.outcome === 'incomplete') process.exitCode = EXIT_INCOMPLETE;
  } finally {
    await store.close();
  }
}
