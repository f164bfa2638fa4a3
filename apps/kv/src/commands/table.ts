import { clusterCommands } from './cluster.js';
import { CommandTable } from './command-table.js';
import { connectionCommands } from './connection.js';
import { introspectionCommands, withCommandCommand } from './introspection.js';
import { keyCommands } from './keys.js';
import { keyspaceCommands } from './keyspace.js';
import { stringCommands } from './strings.js';

/** A table of all commands. */
export function createCommandTable(): CommandTable {
  const commands = [
    ...stringCommands,
    ...keyCommands,
    ...keyspaceCommands,
    ...connectionCommands,
    ...introspectionCommands,
    ...clusterCommands,
  ];
  return new CommandTable(withCommandCommand(commands));
}
