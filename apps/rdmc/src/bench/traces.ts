import { TemporaryFolder } from '../demo/temporary-folder.js';
import { checkOutput, writeTogether } from '../trace/output.js';
import type { Terminal } from '../ui/terminal.js';

/** Runs `measure`, whose members trace into a folder, and writes their traces to `output` as one. */
export async function traced(
  output: string,
  terminal: Pick<Terminal, 'note'>,
  measure: (folder: string) => Promise<readonly string[]>,
): Promise<void> {
  checkOutput(output);
  const folder = new TemporaryFolder('rdmc-trace-');
  try {
    await writeTogether(await measure(folder.path), output, terminal);
  } finally {
    await folder.remove();
  }
}
