import { isIPv6 } from 'node:net';
import { usageError } from '../errors.js';

/** A host on the command line or in a file. */
export interface Endpoint {
  /** Account on the host, for remote shells: `user` of `user@host`. */
  readonly user?: string;
  /** A name, or an address without brackets. */
  readonly host: string;
  readonly port?: number;
}

/** Excludes a leading `-`, which the remote shell would read as an option, and `/`, spaces and shell characters. */
const NAME = /^[\p{L}\p{N}_][\p{L}\p{N}._-]*$/u;
const USER = /^[A-Za-z0-9_][A-Za-z0-9._-]*$/;
const ZONE = /%[A-Za-z0-9._-]+$/;

function portOf(text: string, whole: string): number {
  const port = Number(text);
  if (/^\d{1,5}$/.test(text) && port <= 65_535) return port;
  throw usageError(`${JSON.stringify(whole)}: ${JSON.stringify(text)} is not a port from 0 to 65535`);
}

/** `[address]` or `[address]:port`. */
function bracketed(text: string): Endpoint {
  const match = /^\[([^\]]*)\](?::(.*))?$/.exec(text);
  const address = match?.[1] ?? '';
  if (!match || !isIPv6(address.replace(ZONE, ''))) {
    throw usageError(`${JSON.stringify(text)} is not [IPv6 address] or [IPv6 address]:port`);
  }
  return match[2] === undefined ? { host: address } : { host: address, port: portOf(match[2], text) };
}

function named(text: string): Endpoint {
  const colons = text.split(':').length - 1;
  if (colons > 1) {
    const advice = `write an IPv6 address in brackets: [${text}], or with its port [${text}]:7411`;
    throw usageError(`${JSON.stringify(text)}: ambiguous: where does the port begin?`, advice);
  }
  const [host = '', port] = text.split(':');
  if (!NAME.test(host))
    throw usageError(`${JSON.stringify(text)}: ${JSON.stringify(host)} is not a host name`);
  return port === undefined ? { host } : { host, port: portOf(port, text) };
}

/**
 * Reads `host`, `host:port`, `[IPv6 address]`, `[IPv6 address]:port`, each with `user@` in front or without.
 * @throws CliError ERR_RDMC_USAGE that quotes what was found
 */
export function parseEndpoint(text: string): Endpoint {
  const at = text.lastIndexOf('@');
  const rest = text.slice(at + 1);
  const endpoint = rest.startsWith('[') ? bracketed(rest) : named(rest);
  if (at < 0) return endpoint;
  const user = text.slice(0, at);
  if (!USER.test(user))
    throw usageError(`${JSON.stringify(text)}: ${JSON.stringify(user)} is not a user name`);
  return { user, ...endpoint };
}

/** Formats an endpoint; IPv6 addresses in brackets. */
export function formatEndpoint({
  user,
  host,
  port,
}: {
  readonly user?: string | undefined;
  readonly host: string;
  readonly port?: number | undefined;
}): string {
  const name = host.includes(':') ? `[${host}]` : host;
  return `${user === undefined ? '' : `${user}@`}${name}${port === undefined ? '' : `:${port}`}`;
}
