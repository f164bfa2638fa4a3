import { dumpOnSignals } from '@rdmc/tailwind';
import { codeOf, messageOf } from '../errors.js';
import type { ServerOptions } from '../node/cluster-options.js';
import { type CoordinatorOptions, KvCoordinator } from '../node/coordinator-process.js';
import { KvServer } from '../node/kv-server.js';
import { Standalone, type StandaloneOptions } from '../node/standalone.js';

/** A process that ended because the cluster did: start it again, with all the others. */
export const EXIT_AGAIN = 75;
const EXIT_FAILED = 1;

/** One line for people, and the same for a program that started this one. */
export type Tell = (line: string, event: object) => void;

export async function runStandalone(options: StandaloneOptions, tell: Tell): Promise<void> {
  const server = await Standalone.start(options);
  tell(`ready: clients at port ${server.port}; one process, nothing is replicated`, { ready: server.port });
}

/** Runs until it is ended by a signal, or ends itself; what backups hold in memory goes to files first. */
export async function runServer(options: ServerOptions, tell: Tell): Promise<void> {
  const server = await KvServer.start(options);
  // What ctrl-C ends is ended as planned too.
  process.on('SIGINT', () => process.kill(process.pid, 'SIGTERM'));
  if (server.backup) dumpOnSignals(server.backup);
  const { device, reason } = server.device;
  tell(`server ${options.id}: device ${device}: ${reason}`, { device, reason });
  tell(`server ${options.id}: clients at port ${server.port}`, { ready: server.port });
  server.ended.addEventListener('abort', () => {
    const reason: unknown = server.ended.reason;
    const isAgain = codeOf(reason) === 'ERR_RDMC_KV_COORDINATOR_LOST';
    tell(`server ${options.id} ends: ${codeOf(reason)}: ${messageOf(reason)}`, { ended: codeOf(reason) });
    const dumped = server.backup?.dump() ?? Promise.resolve();
    dumped.then(
      () => process.exit(isAgain ? EXIT_AGAIN : EXIT_FAILED),
      (error: unknown) => {
        tell(`server ${options.id}: what its backup holds was not written: ${messageOf(error)}`, {});
        process.exit(EXIT_FAILED);
      },
    );
  });
}

export async function runCoordinator(options: CoordinatorOptions, tell: Tell): Promise<void> {
  const coordinator = await KvCoordinator.start(options, {
    serving: (epoch) => tell(`all slots are served (epoch ${epoch})`, { serving: epoch }),
    recovered: (event) =>
      tell(`log ${event.logId} recovered: ${event.entries} entries in ${event.milliseconds} ms`, {
        recovered: event,
      }),
    failed: (event) =>
      tell(`${failedText(event.logId)} yet: ${event.code}: ${event.reason}`, { failed: event }),
  });
  tell('coordinator: all members are there', { ready: 0 });
  const stop = (): void => {
    coordinator.close().finally(() => process.exit(process.exitCode ?? 0));
  };
  coordinator.lost?.addEventListener('abort', () => {
    tell('coordinator: another one has taken over the state', { ended: 'ERR_RDMC_STATE_LOST' });
    process.exitCode = EXIT_AGAIN;
    stop();
  });
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
}

function failedText(logId: string | undefined): string {
  return logId === undefined ? 'slots cannot be given out' : `log ${logId} is not recovered`;
}
