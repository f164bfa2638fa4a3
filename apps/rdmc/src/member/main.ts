/** The program of the other processes of a group. Takes commands over IPC; never outlives its parent. */
import { constants } from 'node:os';
import { type Command, command, type Report } from '../cluster/messages.js';
import { CliError, codeOf, exitCodeOf, messageOf } from '../errors.js';
import { onParentGone } from './orphan-watch.js';
import { discard } from './received-file.js';
import { Receiver } from './receiver.js';

/** Folders of the parent, which it cannot remove when it was killed. */
const folders = process.argv.slice(2);

function tell(report: Report): void {
  if (process.connected) process.send!(report);
}

/** Reports the failure, and then ends the process. */
function fail(error: unknown, exitCode: number = exitCodeOf(error)): void {
  const report: Report = {
    type: 'failed',
    code: codeOf(error) ?? 'ERR_RDMC_UNEXPECTED',
    message: messageOf(error),
  };
  if (!process.connected) process.exit(exitCode);
  process.send!(report, () => process.exit(exitCode));
}

const receiver = new Receiver(tell, fail);

async function execute(given: Command): Promise<void> {
  switch (given.type) {
    case 'join':
      return receiver.join(given);
    case 'open':
      return receiver.open(given);
    case 'store':
      return receiver.store(given);
    case 'leave':
      await receiver.leave();
      process.send!({ type: 'left' } satisfies Report, () => process.exit(0));
  }
}

onParentGone(() => {
  for (const folder of folders) discard(folder);
  process.exit(0);
});
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(name, () => {
    const error = new CliError('ERR_RDMC_INTERRUPTED', `interrupted by ${name}`);
    fail(error, 128 + constants.signals[name]);
  });
}
process.on('message', (message) => {
  Promise.resolve()
    .then(() => execute(command.parse(message)))
    .catch(fail);
});
process.on('uncaughtException', (error) => fail(error));
receiver.listen().catch(fail);
