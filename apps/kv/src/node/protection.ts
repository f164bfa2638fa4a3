import { isLoopbackHost } from '@rdmc/mesh';
import { KvError } from '../errors.js';

/** What decides who may run commands. */
export interface Protection {
  /** Where clients connect. */
  readonly host?: string | undefined;
  readonly password?: string | undefined;
  /**
   * Whether a host beyond loopback is refused without a password (default true). False: on a network that you trust
   * entirely.
   */
  readonly protectedMode?: boolean | undefined;
}

/** @throws KvError ERR_RDMC_KV_UNPROTECTED: everybody on the network could run commands */
export function requireProtection({ host, password, protectedMode = true }: Protection): void {
  if (!protectedMode || password !== undefined || host === undefined || isLoopbackHost(host)) return;
  throw new KvError(
    'ERR_RDMC_KV_UNPROTECTED',
    `clients would connect at ${host}, beyond loopback, without a password: set RDMC_KV_PASSWORD (and have clients say ` +
      'AUTH), or, on a network that you trust entirely, say --no-protected-mode',
  );
}

/**
 * A password keeps others from running commands at the clients' port; without a key they could run them at the port of
 * the mesh. The key of the user that loopback has without another one is not enough: a password says that not all
 * processes of the host may run commands, and each process of the user has that key.
 * @throws KvError ERR_RDMC_KV_UNPROTECTED
 */
export function requireKeyForPassword(password: string | undefined, key: string | undefined): void {
  if (password === undefined || key !== undefined) return;
  throw new KvError(
    'ERR_RDMC_KV_UNPROTECTED',
    'a password needs a cluster key: without one, other processes could run commands past the password at the port of ' +
      'the mesh. Make one (openssl rand -hex 32 > key; chmod 600 key), and give it to all members with --key-file, or in ' +
      'RDMC_KEY',
  );
}
