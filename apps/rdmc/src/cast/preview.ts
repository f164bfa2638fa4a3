import type { EntryChange, ReceiverSummary } from '@rdmc/cast';
import type { Palette } from '../ui/palette.js';
import { printable } from '../ui/printable.js';
import { formatBytes, plural } from '../ui/units.js';
import type { CastEventOf } from './events.js';

/** What a dry run found at a receiver. */

const WIDTH = 'attributes'.length;

export function changeEvent(receiver: string, change: EntryChange): CastEventOf<'change'> {
  return { event: 'change', receiver, ...change };
}

function changeLine({ change, kind, path, bytes }: EntryChange): string {
  const name = `${printable(path)}${kind === 'directory' ? '/' : ''}`;
  const size =
    kind === 'file' && (change === 'create' || change === 'replace') ? `  ${formatBytes(bytes)}` : '';
  return `  ${change.padEnd(WIDTH)}  ${name}${size}`;
}

/** The lines of one receiver. */
export function describeChanges(name: string, changes: readonly EntryChange[], palette: Palette): string[] {
  if (changes.length === 0) return [`${palette.bold(name)}: nothing would change`];
  return [`${palette.bold(name)}: ${plural(changes.length, 'change')}`, ...changes.map(changeLine)];
}

/** The last line of a dry run. */
export function describePreview(
  receivers: readonly Pick<ReceiverSummary, 'state'>[],
  { sentFiles, sentBytes }: { readonly sentFiles: number; readonly sentBytes: number },
): string {
  const compared = receivers.filter(({ state }) => state === 'complete').length;
  const what = `${plural(sentFiles, 'file')}, ${formatBytes(sentBytes)}`;
  return `A cast would send ${what} to ${plural(compared, 'receiver')}; nothing was sent or changed.`;
}
