import { KEY_ADVICE } from '../advice.js';
import { CliError } from '../errors.js';
import { ExitCode } from '../exit-codes.js';
import type { ResolvedTarget } from '../hosts/resolve.js';

function isLoopback(address: string): boolean {
  return address.startsWith('127.') || address === '::1' || address.startsWith('::ffff:127.');
}

/** @throws CliError ERR_RDMC_KEY_REQUIRED when there is no key and a receiver is on another host */
export function checkKey(key: Uint8Array | undefined, targets: readonly ResolvedTarget[]): void {
  const far = targets.filter(({ address }) => !isLoopback(address));
  if (key !== undefined || far.length === 0) return;
  const names = far.map(({ host }) => host).join(', ');
  throw new CliError('ERR_RDMC_KEY_REQUIRED', `receivers on other hosts need a key: ${names}`, {
    exitCode: ExitCode.USAGE,
    advice: `${KEY_ADVICE}; or use --ssh, which makes a key`,
  });
}
