import { readShape } from '@rdmc/common/shapes';
import { type Command, Option } from 'commander';
import { clusterStatus } from '../admin/status.js';
import { statusText } from '../admin/status-text.js';
import { DEFAULT_PORT } from '../limits.js';
import { endpoints } from '../values.js';
import { type AdminFlags, askCluster } from './ask-cluster.js';
import { addSnapshotCommands } from './snapshot-commands.js';
import type { Tell } from './tell.js';
import { clientTlsOptions } from './tls-options.js';

/** Exit code: the cluster answered, and something is not as it should be. */
const EXIT_PROBLEMS = 3;

const STATUS_HELP = `
It asks one server, which asks the coordinator and the other servers; a member that does not answer within 2 s is a part of the
answer. It changes nothing. The password of clients comes from RDMC_KV_PASSWORD.

  kv admin status --connect 10.0.0.1:6379,10.0.0.2:6379

state      connected; silent: connected, and it does not answer; failed: its connection ended;
           absent: it has left, or has not joined
run        incarnation: rises with each process of the server
slots      that it serves, by the slot table of the asked server
keys       in these slots
MiB        bytes of its log that are in use; log MiB: of all segments of the log
lease      whether it may answer reads
backup of  logs of other servers of which it keeps segments
buffers    segments of other servers in its memory, and how many it grants: --buffers, or fewer with --power-hold-seconds

Exit code: 0 every slot is served, and every member answers; 3 there are problems, which are listed; 1 an error
`;

const DEFAULT_ADDRESS = `127.0.0.1:${DEFAULT_PORT}`;

/** `kv admin`: looks after a cluster that runs. */
export function addAdminCommand(program: Command, tell: Tell): void {
  const admin = program.command('admin').description('looks after a cluster that runs');
  const status = admin
    .command('status')
    .description('lists the servers, their slots, keys and leases, and the recoveries that are under way')
    .addHelpText('after', STATUS_HELP);
  connectOptions(status).action((flags: AdminFlags) => tellStatus(flags, tell));
  addSnapshotCommands(admin, connectOptions, tell);
}

function connectOptions(command: Command): Command {
  const [first] = endpoints(DEFAULT_ADDRESS);
  const addresses = new Option(
    '-c, --connect <list>',
    'host:port for clients of one or more servers; the first that can be reached is asked',
  );
  command
    .addOption(addresses.argParser(endpoints).default([first], DEFAULT_ADDRESS))
    .option('--json', 'one JSON document instead of text', false);
  return clientTlsOptions(command);
}

async function tellStatus(flags: AdminFlags, tell: Tell): Promise<void> {
  const status = readShape(clusterStatus, await askCluster(flags, ['STATUS']));
  tell(flags.json ? JSON.stringify(status) : statusText(status), status);
  if (!status.isHealthy) process.exitCode = EXIT_PROBLEMS;
}
