import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { KvError } from '../errors.js';
import { openStore } from '../node/coordinator-process.js';
import { salvage } from '../salvage/salvage.js';
import { salvageText } from '../salvage/text.js';
import { serverIds } from '../values.js';
import { type CoordinatorStateFlags, coordinatorStateOptions } from './state-options.js';
import type { Tell } from './tell.js';

/** Something is missing, and nothing was changed. */
const EXIT_INCOMPLETE = 3;

interface SalvageFlags extends CoordinatorStateFlags {
  readonly directory: string;
  readonly without: readonly number[];
  readonly acceptLoss: boolean;
  readonly json: boolean;
}

const HELP = `
After a kill -9 of all processes, or a loss of power, what was written last was only in memory: the coordinator says
ERR_RDMC_LOG_INCOMPLETE at each start, and the slots stay without a server. End all members, and run this on the host
of the coordinator. It reads the coordinator's state and the servers' files, and says which keys can be recovered,
from which files, and what is missing. Files of servers on other hosts: copy or mount the directories that these were
started with (--directory), and name them as arguments.

  kv salvage --directory /var/lib/kv /mnt/host2/kv /mnt/host3/kv

It locks the directories meanwhile, so it must be able to write there. It changes nothing until you say --accept-loss.
With that, the next start of all members recovers exactly what was listed, and what is missing is given up for ever.
Before that, keep a copy of all directories.

Exit code: 0 nothing is missing, or the loss was accepted (now, or by an earlier run); 3 something is missing, and
nothing was changed; 1 an error
`;

export function addSalvageCommand(program: Command, tell: Tell): void {
  const command = program
    .command('salvage')
    .description('what can be recovered of a cluster whose processes were all killed; opens it with that')
    .argument('[directories...]', 'directories of servers on other hosts, or copies of them')
    .option('-d, --directory <path>', "the coordinator's, as it was started with", './kv-data')
    .option('--without <ids>', 'servers whose files are gone for good, with commas', serverIds, [])
    .option('--accept-loss', 'give up what is missing, and have the next start serve the rest', false)
    .option('--json', 'one JSON document instead of text', false)
    .addHelpText('after', HELP);
  coordinatorStateOptions(command).action((more: string[], flags: SalvageFlags) => run(more, flags, tell));
}

async function run(more: readonly string[], flags: SalvageFlags, tell: Tell): Promise<void> {
  const directory = join(flags.directory, 'coordinator');
  const file = join(directory, 'state');
  if (!flags.etcd && !existsSync(file)) {
    throw new KvError(
      'ERR_RDMC_KV_NOTHING_TO_SALVAGE',
      `there is no coordinator's state ${file}: name with --directory what the coordinator was started with, or with ` +
        '--etcd where its state is',
    );
  }
  const store = await openStore({ ...flags, directory });
  try {
    const report = await salvage(store, {
      place: flags.etcd ? flags.etcd.join(',') : file,
      roots: [...new Set([flags.directory, ...more])],
      without: flags.without,
      acceptLoss: flags.acceptLoss,
    });
    tell(flags.json ? JSON.stringify(report) : salvageText(report), report);
    if (report.outcome === 'incomplete') process.exitCode = EXIT_INCOMPLETE;
  } finally {
    await store.close();
  }
}
