import { TrainingError } from './errors.js';

const EXIT_CODES = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;

/** Runs a function with a signal that Ctrl-C, SIGTERM and SIGHUP abort, so that it can clean up. A second one ends the process at once. */
export async function interruptible<Result>(work: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
  const controller = new AbortController();
  const onSignal = (name: keyof typeof EXIT_CODES): void => {
    const code = EXIT_CODES[name];
    if (controller.signal.aborted) process.exit(code);
    const message = `interrupted by ${name}; all processes were stopped and temporary files removed`;
    controller.abort(new TrainingError('ERR_RDMC_TRAINING_INTERRUPTED', message, code));
  };
  const names = Object.keys(EXIT_CODES) as (keyof typeof EXIT_CODES)[];
  for (const name of names) process.on(name, onSignal);
  try {
    return await work(controller.signal);
  } finally {
    for (const name of names) process.off(name, onSignal);
  }
}
