import { BlockList, isIPv6 } from 'node:net';
import { networkInterfaces } from 'node:os';

/** Networks in which this machine has an address. */
function ownNetworks(interfaces: ReturnType<typeof networkInterfaces>): BlockList {
  const networks = new BlockList();
  for (const { cidr, family } of Object.values(interfaces).flatMap((list) => list ?? [])) {
    const [address, prefix] = cidr?.split('/') ?? [];
    if (address && prefix) networks.addSubnet(address, Number(prefix), family === 'IPv6' ? 'ipv6' : 'ipv4');
  }
  return networks;
}

/**
 * Chooses one of a receiver's addresses: the first one in a network of this machine, else the first.
 */
export function chooseAddress(
  addresses: readonly string[],
  interfaces = networkInterfaces(),
): string | undefined {
  const networks = ownNetworks(interfaces);
  const near = addresses.find((address) => networks.check(address, isIPv6(address) ? 'ipv6' : 'ipv4'));
  return near ?? addresses[0];
}
