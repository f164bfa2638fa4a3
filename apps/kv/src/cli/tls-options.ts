import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import type { ClientTls } from '../client/connection.js';
import { KvError, messageOf } from '../errors.js';
import type { ServerTls } from '../server/client-port.js';

export interface ServerTlsFlags {
  readonly tlsCert?: string;
  readonly tlsKey?: string;
}

export interface ClientTlsFlags {
  readonly tls?: boolean;
  readonly cacert?: string;
}

/** The certificate of a server, and its key. */
export function serverTlsOptions(command: Command): Command {
  return command
    .option('--tls-cert <path>', 'certificate in PEM: clients connect with TLS only (needs --tls-key)')
    .option('--tls-key <path>', "the certificate's private key in PEM");
}

/** How a client of this package connects. */
export function clientTlsOptions(command: Command): Command {
  return command
    .option('--tls', 'connect with TLS')
    .option('--cacert <path>', 'authority of the certificates in PEM (default: those of Node.js)');
}

/** Of a command that starts servers and connects to them. */
export interface ClusterTlsFlags extends ServerTlsFlags, ClientTlsFlags {}

/** The options of both ends. */
export function clusterTlsOptions(command: Command): Command {
  return serverTlsOptions(clientTlsOptions(command));
}

/** The files of a server's certificate; undefined: without TLS. @throws KvError ERR_RDMC_KV_INVALID_TLS */
export function serverTls({ tlsCert, tlsKey }: ServerTlsFlags): ServerTls | undefined {
  if (tlsCert === undefined && tlsKey === undefined) return undefined;
  if (tlsCert === undefined || tlsKey === undefined) {
    throw new KvError('ERR_RDMC_KV_INVALID_TLS', 'TLS needs both: give --tls-cert and --tls-key');
  }
  return { cert: contentOf(tlsCert, '--tls-cert'), key: contentOf(tlsKey, '--tls-key') };
}

/** The arguments of servers that are started with the same certificate. */
export function serverTlsArguments({ tlsCert, tlsKey }: ServerTlsFlags): string[] {
  return tlsCert === undefined || tlsKey === undefined ? [] : ['--tls-cert', tlsCert, '--tls-key', tlsKey];
}

/** Undefined: without TLS. @throws KvError ERR_RDMC_KV_INVALID_TLS */
export function clientTls({ tls, cacert }: ClientTlsFlags): ClientTls | undefined {
  if (tls) return cacert === undefined ? {} : { ca: contentOf(cacert, '--cacert') };
  if (cacert === undefined) return undefined;
  throw new KvError('ERR_RDMC_KV_INVALID_TLS', '--cacert has no effect without --tls: give both');
}

/** Of a command that starts servers and connects to them: both ends have TLS, or none. @throws KvError, as the others */
export function clusterTls(flags: ClusterTlsFlags): ClientTls | undefined {
  const server = serverTls(flags);
  const client = clientTls({ ...flags, tls: flags.tls || server !== undefined });
  if (client === undefined || server !== undefined) return client;
  throw new KvError(
    'ERR_RDMC_KV_INVALID_TLS',
    '--tls needs a certificate for the servers that are started: give --tls-cert and --tls-key',
  );
}

function contentOf(path: string, option: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    throw new KvError('ERR_RDMC_KV_INVALID_TLS', `${option}: cannot read the file: ${messageOf(error)}`, {
      cause: error,
    });
  }
}
