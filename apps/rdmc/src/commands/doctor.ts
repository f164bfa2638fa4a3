import type { Command } from 'commander';
import * as z from 'zod';
import { describeExamination } from '../doctor/report.js';
import { ExitCode } from '../exit-codes.js';
import type { Session } from '../session.js';
import { parseOptions, size, wholeNumber } from '../values.js';
import { addHelpNotes } from './help.js';

const schema = z.strictObject({
  members: wholeNumber(2, 1024),
  size: size(1, 2 ** 50),
  json: z.boolean().default(false),
});

async function runDoctor(options: z.output<typeof schema>, session: Session): Promise<void> {
  const { terminal } = session;
  const { examine } = await import('../doctor/examine.js');
  const document = await examine({ members: options.members, byteLength: options.size });
  if (options.json) terminal.json(document);
  else terminal.out(...describeExamination(document, terminal.palette));
  if (!document.healthy) session.exitCode = ExitCode.FAILURE;
}

export function defineDoctorCommand(command: Command, session: Session): void {
  command
    .option('-m, --members <count>', 'members of the demonstration to check for', '8')
    .option('-s, --size <size>', 'and its message size', '256MiB')
    .option('--json', 'one JSON document')
    .action((raw: unknown) => runDoctor(parseOptions(schema, raw), session));
  addHelpNotes(command, {
    about: [
      'ok: no problem. info: for information. warn: works, but less well. FAIL: does not work until changed.',
      'Ends with 1 when a check failed.',
    ],
    examples: [
      ['rdmc doctor', 'all checks'],
      ['rdmc doctor --members 64 --size 1GiB', 'for 64 members and 1 GiB'],
      ['rdmc doctor --json | jq \'.checks[] | select(.status == "fail")\'', 'for programs'],
    ],
  });
}
