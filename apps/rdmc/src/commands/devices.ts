import type { Command } from 'commander';
import * as z from 'zod';
import { describeDevices } from '../devices/report.js';
import { ExitCode } from '../exit-codes.js';
import type { Session } from '../session.js';
import { parseOptions } from '../values.js';
import { addHelpNotes } from './help.js';

const schema = z.strictObject({ json: z.boolean().default(false) });

async function runDevices({ json }: z.output<typeof schema>, session: Session): Promise<void> {
  const { terminal } = session;
  const { surveyDevices } = await import('../devices/survey.js');
  const document = await surveyDevices();
  if (json) terminal.json(document);
  else terminal.out(...describeDevices(document, terminal.palette));
  if (!document.devices.some(({ usable }) => usable)) session.exitCode = ExitCode.FAILURE;
}

export function defineDevicesCommand(command: Command, session: Session): void {
  command
    .option('--json', 'one JSON document')
    .action((raw: unknown) => runDevices(parseOptions(schema, raw), session));
  addHelpNotes(command, {
    about: [
      'Ends with 1 when no device is usable; rdmc doctor then has advice.',
      'RDMC_DEVICE, RDMC_PORT and RDMC_GID_INDEX in the environment decide what `auto` chooses, in all commands.',
      'RDMC_IBVERBS_LIBRARY is the path of another libibverbs.',
    ],
    examples: [
      ['rdmc devices', 'for people'],
      ["rdmc devices --json | jq '.auto'", 'the device that `auto` chooses, and why'],
    ],
  });
}
