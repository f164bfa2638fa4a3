import { networkInterfaces } from 'node:os';

/** Address of this machine as the ssh client reached it: `SSH_CONNECTION` is client, its port, server, its port. */
function sshAddress(environment: NodeJS.ProcessEnv): string | undefined {
  return environment.SSH_CONNECTION?.split(' ')[2]?.replace(/^::ffff:/, '');
}

/**
 * Addresses of this machine at which another may reach it, likeliest first: the one that ssh came in by, then IPv4,
 * then IPv6. Loopback and link-local ones mean nothing elsewhere.
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
