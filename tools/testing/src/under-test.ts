import { onTestFailed, onTestFinished } from 'vitest';

/** A WatchedProcess, whatever its events are. */
interface Reporting {
  report(): string;
  kill(): Promise<unknown>;
}

/** The process is gone at the end of the test, and a test that fails shows what it said. */
export function underTest<Watched extends Reporting>(watched: Watched): Watched {
  onTestFailed(() => console.error(watched.report()));
  onTestFinished(async () => {
    await watched.kill();
  });
  return watched;
}
