import { CommandError, replyOf } from '../resp/command-error.js';
import { type Command, define } from './command.js';

/** The name of the command that `kv admin` sends. */
export const ADMIN_COMMAND = 'rdmc.admin';

const ALONE = replyOf(
  'ERR_RDMC_KV_NOT_A_CLUSTER',
  'this server runs alone: it has no coordinator and no other servers',
);

/** The router runs it, for a server of a cluster. Redis does not have it, so COMMAND does not list it. */
export const adminCommand: Command = define(
  ADMIN_COMMAND,
  -2,
  'admin noscript no_multi',
  () => {
    throw new CommandError(ALONE);
  },
  { route: 'cluster' },
);
