import { clusterCommands } from './cluster.js';
import { CommandTable } from './command.js';
import { connectionCommands } from './connection.js';
import { commandCommand, introspectionCommands } from './introspection.js';
import { keyCommands } from './keys.js';
import { keyspaceCommands } from './keyspace.js';
import { stringCommands } from './strings.js';

/** Every command there is. */
export const commands: CommandTable = new CommandTable([
  ...stringCommands,
  ...keyCommands,
  ...keyspaceCommands,
  ...connectionCommands,
  ...introspectionCommands,
  ...clusterCommands,
  commandCommand(() => commands),
]);
