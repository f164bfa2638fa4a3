import type { Command } from 'commander';
import { manualPage } from '../manual/manual-page.js';
import { commandFacts } from '../manual/option-table.js';
import type { Session } from '../session.js';
import { addHelpNotes } from './help.js';

/** @param whole the parser with all commands */
export function defineManualCommand(
  command: Command,
  { terminal }: Session,
  whole: () => Promise<Command>,
): void {
  command.action(async () => terminal.out(manualPage(commandFacts(await whole())).trimEnd()));
  addHelpNotes(command, { examples: [['rdmc manual | man -l -', 'read it']] });
}
