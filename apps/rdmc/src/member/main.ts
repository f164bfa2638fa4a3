/** The program of the other processes of a group. Takes commands over IPC; never outlives its parent. */
import { type Command, command, type Report } from '../cluster/messages.js';
import { CliError, codeOf, messageOf } from '../errors.js';
import { onParentGone } from './orphan-watch.js';
import { discard } from './received-file.js';
import { Receiver } from './receiver.js';

/** Folders of the parent, which it cannot remove when it was killed. */
const folders = process.argv.slice(2);

/** A report that cannot be sent has no reader: the parent has ended, which `onParentGone` notices. */
function tell(report: Report): void {
  if (process.connected) process.send!(report, () => {});
}

/**
 * Reports the failure; the parent then kills all its processes. This one does not end before: the failure may come from
 * the end of the parent, and then this process has to remove the folders.
 */
function fail(error: unknown): void {
  tell({
    type: 'failed',
    code: codeOf(error) ?? 'ERR_RDMC_UNEXPECTED',
    message: messageOf(error),
  });
}

function cleanUp(): never {
  for (const folder of folders) discard(folder);
  process.exit(0);
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
      process.send!({ type: 'left' } satisfies Report, (error: Error | null) =>
        error ? cleanUp() : process.exit(0),
      );
  }
}

onParentGone(cleanUp);
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(name, () => fail(new CliError('ERR_RDMC_INTERRUPTED', `interrupted by ${name}`)));
}
process.on('message', (message) => {
  Promise.resolve()
    .then(() => execute(command.parse(message)))
    .catch(fail);
});
process.on('uncaughtException', (error) => fail(error));
receiver.listen().catch(fail);
