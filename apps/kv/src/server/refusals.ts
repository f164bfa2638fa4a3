import type { Command } from '../commands/command.js';
import { MAX_BULK_BYTES } from '../limits.js';
import type { Arguments } from '../resp/arguments.js';

/** Redis shows this number of characters of an unknown command. */
const SHOWN_CHARACTERS = 128;

/** The error of a command that is refused before it runs, in Redis's words; undefined: the command may run. */
export function refusalOf(
  command: Command | undefined,
  args: Arguments,
  authenticated: boolean,
): string | undefined {
  if (!command) return unknownCommand(args);
  if (command.arity > 0 ? args.count !== command.arity : args.count < -command.arity)
    return `${kindOf(command)} wrong number of arguments for '${command.name}' command`;
  if (args.oversized) {
    return `ERR ERR_RDMC_ENTRY_TOO_LARGE an argument is over the limit of ${MAX_BULK_BYTES} bytes; nothing was done`;
  }
  if (!authenticated && !command.flags.includes('no_auth')) return 'NOAUTH Authentication required.';
  return undefined;
}

/** An EXEC that is refused ends its transaction. */
function kindOf({ name }: Command): string {
  return name === 'exec' ? 'EXECABORT Transaction discarded because of:' : 'ERR';
}

function unknownCommand(args: Arguments): string {
  let shown = '';
  for (let i = 1; i < args.count && shown.length < SHOWN_CHARACTERS; i += 1) {
    shown += `'${args.string(i).slice(0, SHOWN_CHARACTERS - shown.length)}' `;
  }
  return `ERR unknown command '${args.string(0).slice(0, SHOWN_CHARACTERS)}', with args beginning with: ${shown}`;
}
