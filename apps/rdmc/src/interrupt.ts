import { CliError, withoutAbort } from './errors.js';
import { ExitCode } from './exit-codes.js';

const SIGNALS: Readonly<Record<string, ExitCode>> = {
  SIGINT: ExitCode.INTERRUPTED,
  SIGTERM: ExitCode.TERMINATED,
  SIGHUP: ExitCode.HANGUP,
};

interface InterruptOptions {
  readonly codes?: Readonly<Record<string, ExitCode>>;
  readonly advice?: string;
}

/** Controller of the work that can be interrupted. */
let current: AbortController | undefined;

/**
 * The reader of standard output has closed it, as in `rdmc … | head`: aborts the work in progress so that it cleans up,
 * or ends the process where there is none.
 */
export function outputClosed(): void {
  const exitCode = ExitCode.OUTPUT_CLOSED;
  if (!current) process.exit(exitCode);
  const message = 'the reader of the output closed it';
  current.abort(new CliError('ERR_RDMC_INTERRUPTED', message, { exitCode }));
}

/**
 * Runs `work` with a signal that Ctrl-C, SIGTERM and SIGHUP abort, so that it can clean up; the command then ends with
 * the reason as its error. A second signal ends the process immediately.
 * @param options `advice` is printed below the error: what is left, and how to go on
 */
export async function interruptible<Result>(
  work: (signal: AbortSignal) => Promise<Result>,
  { codes = SIGNALS, advice = 'all processes were stopped' }: InterruptOptions = {},
): Promise<Result> {
  const controller = new AbortController();
  current = controller;
  const onSignal = (name: string): void => {
    const exitCode = codes[name]!;
    if (controller.signal.aborted) process.exit(exitCode);
    controller.abort(new CliError('ERR_RDMC_INTERRUPTED', `interrupted by ${name}`, { exitCode, advice }));
  };
  for (const name of Object.keys(SIGNALS)) process.on(name, onSignal);
  try {
    return await work(controller.signal);
  } catch (error) {
    throw withoutAbort(error);
  } finally {
    current = undefined;
    for (const name of Object.keys(SIGNALS)) process.off(name, onSignal);
  }
}

/**
 * As `interruptible`, for a service: its supervisor ends it with SIGTERM. After a complete clean-up the command has
 * succeeded.
 */
export async function service(work: (signal: AbortSignal) => Promise<ExitCode>): Promise<ExitCode> {
  const orderly = async (signal: AbortSignal): Promise<ExitCode> => {
    try {
      return await work(signal);
    } catch (thrown) {
      const error = withoutAbort(thrown);
      const isOrderly = signal.aborted && error === signal.reason && error instanceof CliError;
      if (isOrderly && error.exitCode === ExitCode.OK) return ExitCode.OK;
      throw error;
    }
  };
  return interruptible(orderly, {
    codes: { ...SIGNALS, SIGTERM: ExitCode.OK },
    advice: 'everything is closed',
  });
}
