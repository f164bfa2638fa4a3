import { networkInterfaces } from 'node:os';

/** Address of this machine that the ssh client used: `SSH_CONNECTION` is client, its port, server, its port. */
function sshAddress(environment: NodeJS.ProcessEnv): string | undefined {
  return environment.SSH_CONNECTION?.split(' ')[2]?.replace(/^::ffff:/, '');
}

/**
 * Addresses of this machine that other hosts may reach, likeliest first: the one that the ssh client used, then IPv4,
 * then IPv6. Loopback and link-local addresses are left out: they are not valid on other hosts.
 */
export function reachableAddresses(
  environment: NodeJS.ProcessEnv,
  interfaces = networkInterfaces(),
): string[] {
  const all = Object.values(interfaces).flatMap((list) => list ?? []);
  const usable = all.filter(({ internal, address }) => !internal && !/^(fe[89ab]|169\.254\.)/i.test(address));
  const byFamily = [...usable].sort((a, b) => a.family.localeCompare(b.family)).map(({ address }) => address);
  const first = sshAddress(environment);
  return [...new Set(first === undefined ? byFamily : [first, ...byFamily])];
}
