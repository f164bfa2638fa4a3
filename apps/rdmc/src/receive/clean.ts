import { type RemovedKept, removeKept } from '@rdmc/cast';
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
    const removed = await removeKept(directory);
    const { casts, bytes } = removed;
    const elsewhere = [...removed.elsewhere];
    const event = { event: 'cleaned', directory, casts, bytes, elsewhere } as const;
    if (json) terminal.line(event satisfies ReceiveEventOf<'cleaned'>);
    else if (!quiet) terminal.out(...describe(removed));
    return ExitCode.OK;
  } catch (error) {
    throw withAdvice(error, 'receive');
  }
}

function describe({ casts, bytes, elsewhere }: RemovedKept): string[] {
  const names = elsewhere.join(', ');
  const left = `Left ${names}: receivers in other containers or on other hosts may use them. If none does, remove them.`;
  const removed = `Removed what ${plural(casts, 'interrupted cast')} had left: ${formatBytes(bytes)}.`;
  const lines = [...(casts > 0 ? [removed] : []), ...(names === '' ? [] : [left])];
  return lines.length > 0 ? lines : ['Nothing to remove: no interrupted cast has left anything.'];
}
