import { formatBytes, plural } from '../ui/units.js';

interface Resumed {
  readonly resumedBytes: number;
}

/** How much an interrupted cast has left at receivers; undefined where it has left nothing. */
export function describeResumed(receivers: readonly Resumed[]): string | undefined {
  const some = receivers.filter(({ resumedBytes }) => resumedBytes > 0);
  if (some.length === 0) return undefined;
  const has = some.length === 1 ? 'has' : 'have';
  return `  continues an interrupted cast: ${plural(some.length, 'receiver')} ${has} ${mostResumed(some)} of it`;
}

/** The bytes of the receiver that has most; empty where no receiver has any. */
export function mostResumed(receivers: readonly Resumed[]): string {
  const sizes = receivers.map(({ resumedBytes }) => resumedBytes);
  const most = Math.max(0, ...sizes);
  if (most === 0) return '';
  return sizes.every((size) => size === most) ? formatBytes(most) : `up to ${formatBytes(most)}`;
}
