import { onTestFailed, onTestFinished } from 'vitest';

/** A WatchedProcess with any events. */
interface Reporting {
  report(): string;
  kill(): Promise<unknown>;
}

/** The process is ended at the end of the test, and a failed test shows its output. */
export function underTest<Watched extends Reporting>(watched: Watched): Watched {
  onTestFailed(() => console.error(watched.report()));
  onTestFinished(async () => {
    await watched.kill();
  });
  return watched;
}
