import type { Member } from '@rdmc/mesh';
import { isLoopbackHost } from '@rdmc/mesh/sockets';
import { KvError } from '../errors.js';

/** The options that decide which clients may run commands. */
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

/** @throws KvError ERR_RDMC_KV_UNPROTECTED: every host of the network could run commands, or the password is empty */
export function requireProtection({ host, password, protectedMode = true }: Protection): void {
  // A variable whose secret is not set. Anybody can send it, so it must not count as a password below.
  if (password === '') {
    throw new KvError(
      'ERR_RDMC_KV_UNPROTECTED',
      'the password is empty, so it would not protect anything: set one in RDMC_KV_PASSWORD, or unset that variable',
    );
  }
  if (!protectedMode || password !== undefined || host === undefined || isLoopbackHost(host)) return;
  throw new KvError(
    'ERR_RDMC_KV_UNPROTECTED',
    `clients would connect at ${host}, beyond loopback, without a password: set RDMC_KV_PASSWORD (and have clients send ` +
      'AUTH), or, on a network that you trust entirely, give --no-protected-mode',
  );
}

/**
 * A password protects the clients' port; without a key, processes could run commands at the port of the mesh. The key of the
 * user, which members on loopback use without another key, is not enough: with a password not all processes of the host may run
 * commands, and each process of the user has that key.
 * @throws KvError ERR_RDMC_KV_UNPROTECTED
 */
export function requireKeyForPassword(password: string | undefined, key: string | undefined): void {
  if (password === undefined || key !== undefined) return;
  throw new KvError(
    'ERR_RDMC_KV_UNPROTECTED',
    'a password needs a cluster key: without one, other processes could run commands at the port of the mesh without the ' +
      'password. Make one (openssl rand -hex 32 > key; chmod 600 key), and give it to all members with --key-file, or in ' +
      'RDMC_KEY',
  );
}

/**
 * Without a key, only members on loopback use that of the user.
 * @throws KvError ERR_RDMC_KV_UNPROTECTED
 */
export function requireKeyBeyondLoopback(members: readonly Member[], key: string | undefined): void {
  const outside = key === undefined && members.find(({ host }) => !isLoopbackHost(host));
  if (!outside) return;
  throw new KvError(
    'ERR_RDMC_KV_UNPROTECTED',
    `member ${outside.id} (${outside.host}:${outside.port}) is not on loopback, so the cluster needs a key: make one ` +
      '(umask 077; openssl rand -hex 32 > key), and give it to all members with --key-file, or in RDMC_KEY',
  );
}
