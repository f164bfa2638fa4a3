import { onTestFinished } from 'vitest';

/**
 * Closes it at the end of the test, before what the test registered earlier. Modules that tests share use this, and no hook at
 * their top: the test files of a process load such a module once, so its hooks would belong to the first of these files only.
 */
export function closedAfterTest<Closable extends { close(): unknown }>(closable: Closable): Closable {
  onTestFinished(async () => {
    await closable.close();
  });
  return closable;
}
