import type { Command } from 'commander';
import { usageError } from '../errors.js';
import { completionScript } from '../manual/completion.js';
import { commandFacts } from '../manual/option-table.js';
import { type Shell, shells } from '../manual/shells.js';
import type { Session } from '../session.js';
import { addHelpNotes } from './help.js';

function isShell(name: string): name is Shell {
  return (shells as readonly string[]).includes(name);
}

/** @param whole the parser with all commands */
export function defineCompletionCommand(
  command: Command,
  { terminal }: Session,
  whole: () => Promise<Command>,
): void {
  command.action(async (shell: string) => {
    if (!isShell(shell))
      throw usageError(`${JSON.stringify(shell)} is not a known shell`, `give one of ${shells.join(', ')}`);
    terminal.out(completionScript(shell, commandFacts(await whole())));
  });
  addHelpNotes(command, {
    examples: [
      ['rdmc completion bash >> ~/.bashrc', 'for bash; or: eval "$(rdmc completion bash)"'],
      ['rdmc completion zsh > ~/.zfunc/_rdmc', 'for zsh, in a folder of fpath'],
      ['rdmc completion fish > ~/.config/fish/completions/rdmc.fish', 'for fish'],
    ],
  });
}
