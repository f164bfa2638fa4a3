import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, onTestFinished } from 'vitest';

/**
 * A new directory, which is gone at the end of the test. What a test registers later, as to end processes that write here,
 * comes before that: vitest calls in reverse order.
 */
export function temporaryDirectory(name = 'rdmc-test'): string {
  const [directory, remove] = made(name);
  onTestFinished(remove);
  return directory;
}

/** The same for all tests of a file, or of a `describe`: for use outside of a test. */
export function sharedDirectory(name = 'rdmc-test'): string {
  const [directory, remove] = made(name);
  afterAll(remove);
  return directory;
}

function made(name: string): [directory: string, remove: () => void] {
  const directory = mkdtempSync(join(tmpdir(), `${name}-`));
  return [directory, () => rmSync(directory, { recursive: true, force: true })];
}
