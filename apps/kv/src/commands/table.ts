import { internalCommands } from '../transactions/internal-commands.js';
import { transactionCommands } from '../transactions/transactions.js';
import { adminCommand } from './admin.js';
import { clusterCommands } from './cluster.js';
import { withCommandCommand } from './command-command.js';
import { CommandTable } from './command-table.js';
import { connectionCommands } from './connection.js';
import { hashCommands } from './hashes.js';
import { introspectionCommands } from './introspection.js';
import { keyCommands } from './keys.js';
import { keyspaceCommands } from './keyspace.js';
import { latencyCommand } from './latency.js';
import { objectCommands } from './object.js';
import { shutdownCommand } from './shutdown.js';
import { slowLogCommand } from './slow-log.js';
import { stringCommands } from './strings.js';

/** A table of all commands. */
export function createCommandTable(): CommandTable {
  const commands = [
    ...stringCommands,
    ...hashCommands,
    ...keyCommands,
    ...objectCommands,
    ...keyspaceCommands,
    ...transactionCommands,
    ...connectionCommands,
    ...introspectionCommands,
    ...clusterCommands,
    slowLogCommand,
    latencyCommand,
    shutdownCommand,
  ];
  const internal = internalCommands((args) => table.find(args));
  const table = new CommandTable(withCommandCommand(commands), internal, [adminCommand]);
  return table;
}
