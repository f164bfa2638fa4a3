import { removeKept } from '@rdmc/cast';
import { withAdvice } from '../advice.js';
import { ExitCode } from '../exit-codes.js';
import type { Terminal } from '../ui/terminal.js';
import { formatBytes, plural } from '../ui/units.js';
import type { ReceiveEventOf } from './events.js';

/** What `--clean` prints. */
export interface CleanOptions {
  readonly directory: string;
  readonly quiet: boolean;
  readonly json: boolean;
}

/**
 * Removes what interrupted casts have left in a directory.
 * @throws CastError where the directory cannot be used
 */
export async function clean(options: CleanOptions, terminal: Terminal): Promise<ExitCode> {
  const { directory, quiet, json } = options;
  try {
    const { casts, bytes } = await removeKept(directory);
    if (json)
      terminal.line({ event: 'cleaned', directory, casts, bytes } satisfies ReceiveEventOf<'cleaned'>);
    else if (!quiet) terminal.out(describe(casts, bytes));
    return ExitCode.OK;
  } catch (error) {
    throw withAdvice(error, 'receive');
  }
}

function describe(casts: number, bytes: number): string {
  if (casts === 0) return 'Nothing to remove: no interrupted cast has left anything.';
  return `Removed what ${plural(casts, 'interrupted cast')} had left: ${formatBytes(bytes)}.`;
}
