import type { UnsetAttributes } from '@rdmc/cast';
import { formatCount } from '../ui/units.js';

/** What a receiver has not set of the attributes of `rdmc cast --archive`; `who` is that receiver. */
export function describeUnset(who: string, { accepted, owners, modes }: UnsetAttributes): string {
  const parts = [
    ...(owners > 0 ? [`owners of ${entries(owners)}`] : []),
    ...(modes > 0 ? [`set-user-id, set-group-id or sticky bits of ${entries(modes)}`] : []),
  ];
  const why = accepted ? 'it may not set them' : 'it runs without --archive';
  return `${who} has not set ${parts.join(' and ')}: ${why}`;
}

function entries(count: number): string {
  return `${formatCount(count)} ${count === 1 ? 'entry' : 'entries'}`;
}
