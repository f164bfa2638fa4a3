import { onTestFailed, onTestFinished } from 'vitest';
import type { WatchedProcess } from './watched-process.js';

/** The process is gone at the end of the test, and a test that fails shows what it said. */
export function underTest<Watched extends WatchedProcess<unknown>>(watched: Watched): Watched {
  onTestFailed(() => console.error(watched.report()));
  onTestFinished(async () => {
    await watched.kill();
  });
  return watched;
}
