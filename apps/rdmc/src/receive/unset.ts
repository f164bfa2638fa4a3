import type { UnsetAttributes } from '@rdmc/cast';
import { formatCount } from '../ui/units.js';

/** What a receiver has not set of the attributes of `rdmc cast --archive`; `who` is that receiver. */
export function describeUnset(
  who: string,
  { accepted, owners, modes, attributes, attributeCode }: UnsetAttributes,
): string {
  const parts = [
    ...(owners > 0 ? [`owners of ${entries(owners)}`] : []),
    ...(attributes > 0 ? [`extended attributes of ${entries(attributes)}${reason(attributeCode)}`] : []),
    ...(modes > 0 ? [`set-user-id, set-group-id or sticky bits of ${entries(modes)}`] : []),
  ];
  const ofRights = owners + modes > 0 ? ': it may not set them' : '';
  return `${who} has not set ${parts.join(' and ')}${accepted ? ofRights : ': it runs without --archive'}`;
}

function reason(code: string | undefined): string {
  if (code === undefined) return '';
  return code === 'ENOTSUP' ? ' (its file system has none)' : ` (${code})`;
}

function entries(count: number): string {
  return `${formatCount(count)} ${count === 1 ? 'entry' : 'entries'}`;
}
