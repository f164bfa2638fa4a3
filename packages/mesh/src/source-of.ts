const NETWORK_GROUPS = 4;
const ALL_GROUPS = 8;
const MAPPED_IPV4 = '::ffff:';
const LOOPBACK = '::1';

/**
 * What counts as one source of connections: an IPv4 address, or the /64 network of an IPv6 address, since a host there can
 * take any of its addresses. The soft device of `@rdmc/verbs` counts in the same way.
 *
 * @param address as the system writes it
 */
export function sourceOf(address: string): string {
  if (address.startsWith(MAPPED_IPV4)) return address.slice(MAPPED_IPV4.length);
  if (!address.includes(':') || address === LOOPBACK) return address;
  const [before, after] = address.replace(/%.*$/, '').split('::') as [string, string | undefined];
  const [head, tail] = [groupsOf(before), groupsOf(after ?? '')];
  const zeros = Array<string>(Math.max(0, ALL_GROUPS - head.length - tail.length)).fill('0');
  return `${[...head, ...zeros, ...tail].slice(0, NETWORK_GROUPS).join(':')}::/64`;
}

function groupsOf(text: string): string[] {
  return text === '' ? [] : text.split(':');
}
