import type { Arguments } from '../resp/arguments.js';
import { CommandError, SYNTAX } from '../resp/command-error.js';
import { type Command, define } from './command.js';
import type { CommandContext } from './command-context.js';
import type { Session } from './session.js';

const WORDS = ['SAVE', 'NOSAVE', 'NOW', 'FORCE', 'ABORT'];

/** Ends this server as SIGTERM does. There is nothing to save, so the options make no difference; a success has no reply. */
function shutdown(x: CommandContext, args: Arguments, session: Session): void {
  const words = new Set<string>();
  for (let i = 1; i < args.count; i += 1) words.add(args.word(i));
  const isKnown = [...words].every((word) => WORDS.includes(word));
  const isAbort = words.has('ABORT');
  if (!isKnown || (isAbort && args.count > 2) || (words.has('SAVE') && words.has('NOSAVE')))
    throw new CommandError(SYNTAX);
  if (isAbort) throw new CommandError('ERR No shutdown in progress.');
  if (!x.node.shutdown()) throw new CommandError('ERR Errors trying to SHUTDOWN. Check logs.');
  session.quit();
}

export const shutdownCommand: Command = define('shutdown', -1, 'admin noscript no_multi', shutdown);
