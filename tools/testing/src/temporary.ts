import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** A new directory, which is gone at the end of the test. */
export function temporaryDirectory(name = 'rdmc-test'): string {
  const directory = mkdtempSync(join(tmpdir(), `${name}-`));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}
