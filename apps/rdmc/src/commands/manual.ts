import type { Command } from 'commander';
import { manualPage } from '../manual/manual-page.js';
import { commandFacts } from '../manual/option-table.js';
import type { Session } from '../session.js';
import { addHelpNotes } from './help.js';

/** @param whole the parser with all commands */
export function addManualCommand(
  program: Command,
  { terminal }: Session,
  whole: () => Promise<Command>,
): void {
  const command = program
    .command('manual', { hidden: true })
    .description('Print the page rdmc(1) of the manual, for man.')
    .action(async () => terminal.out(manualPage(commandFacts(await whole())).trimEnd()));
  addHelpNotes(command, { examples: [['rdmc manual | man -l -', 'read it']] });
}
