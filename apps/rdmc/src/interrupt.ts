import { CliError } from './errors.js';
import { ExitCode } from './exit-codes.js';

const SIGNALS: Readonly<Record<string, ExitCode>> = {
  SIGINT: ExitCode.INTERRUPTED,
  SIGTERM: ExitCode.TERMINATED,
  SIGHUP: ExitCode.HANGUP,
};

/**
 * Runs `work` with a signal that Ctrl-C, SIGTERM and SIGHUP abort, so that it can clean up; the reason is the
 * error the command then ends with. A second one ends the process at once.
 */
export async function interruptible<Result>(work: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
  const controller = new AbortController();
  const onSignal = (name: string): void => {
    const exitCode = SIGNALS[name]!;
    if (controller.signal.aborted) process.exit(exitCode);
    controller.abort(
      new CliError('ERR_RDMC_INTERRUPTED', `interrupted by ${name}`, {
        exitCode,
        advice: 'all processes were stopped and temporary files removed',
      }),
    );
  };
  for (const name of Object.keys(SIGNALS)) process.on(name, onSignal);
  try {
    return await work(controller.signal);
  } finally {
    for (const name of Object.keys(SIGNALS)) process.off(name, onSignal);
  }
}
