import { CliError, fileError, withoutAbort } from './errors.js';
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
/** The signal that has interrupted work. */
let interruptedBy: string | undefined;
/** The first failure of standard output. */
let outputFailure: CliError | undefined;

function outputError(cause: NodeJS.ErrnoException): CliError {
  if (cause.code !== 'EPIPE') return fileError('cannot write standard output', cause);
  const exitCode = ExitCode.OUTPUT_CLOSED;
  return new CliError('ERR_RDMC_INTERRUPTED', 'the reader of the output closed it', { exitCode });
}

/**
 * Standard output cannot be written: its reader has closed it, as in `rdmc … | head`, or its disk is full. Aborts the work in
 * progress, which then cleans up. If no work is in progress, calls `end`. Later failures are ignored.
 */
export function outputFailed(cause: NodeJS.ErrnoException, end: (failure: CliError) => void): void {
  if (outputFailure) return;
  outputFailure = outputError(cause);
  if (current) current.abort(outputFailure);
  else end(outputFailure);
}

/**
 * Ends the process at once: as by `process.exit`, whose listeners kill other processes, but by the signal. Node.js would
 * wait for the threads of its pool, where a read of a pipe may never end.
 */
function endBy(name: string): never {
  process.removeAllListeners(name);
  process.once('exit', () => process.kill(process.pid, name));
  // Where the signal is ignored, as by the first process of a container.
  return process.exit(SIGNALS[name]);
}

/**
 * Ends the process although something of it goes on. After an interrupt that may be a thread of the pool that looks up a name;
 * `process.exit` would wait for the resolver. So the process ends by the signal then, for which a shell shows the same code.
 */
export function endAnyway(): never {
  if (interruptedBy !== undefined && process.exitCode === SIGNALS[interruptedBy]) endBy(interruptedBy);
  return process.exit();
}

/**
 * Runs `work` with a signal that Ctrl-C, SIGTERM and SIGHUP abort, so that it can clean up; the command then ends with
 * the reason as its error. A second signal ends the process immediately, by the action that the system has for it.
 * @param options `advice` is printed below the error: what is left, and how to go on
 */
export async function interruptible<Result>(
  work: (signal: AbortSignal) => Promise<Result>,
  { codes = SIGNALS, advice = 'all processes were stopped' }: InterruptOptions = {},
): Promise<Result> {
  const controller = new AbortController();
  current = controller;
  const onSignal = (name: string): void => {
    if (controller.signal.aborted) endBy(name);
    interruptedBy = name;
    const exitCode = codes[name]!;
    controller.abort(new CliError('ERR_RDMC_INTERRUPTED', `interrupted by ${name}`, { exitCode, advice }));
  };
  for (const name of Object.keys(SIGNALS)) process.on(name, onSignal);
  try {
    const result = await work(controller.signal);
    // The last lines may have failed, too late for the work to see it.
    if (outputFailure) throw outputFailure;
    return result;
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
