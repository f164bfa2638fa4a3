import { isIPv6 } from 'node:net';
import { invalidOption } from './options.js';

/** The address of an endpoint. */
export interface MetricsAddress {
  /** Host name, IPv4 address, or IPv6 address without brackets. */
  readonly host: string;
  /** TCP port, 0 to 65535; 0: any. */
  readonly port: number;
}

const LOOPBACK = '127.0.0.1';
const ADDRESS = /^(?:(?:\[(?<ipv6>[^\]]+)\]|(?<host>[^\s:[\]/]+)):)?(?<port>\d{1,5})$/;

/**
 * Reads `PORT`, `HOST:PORT` or `[IPv6 address]:PORT`, as command lines give it. Without a host: 127.0.0.1.
 * @throws MetricsError ERR_RDMC_INVALID_OPTION that quotes the text
 */
export function parseMetricsAddress(text: string): MetricsAddress {
  const { ipv6, host, port: digits } = ADDRESS.exec(text)?.groups ?? {};
  const port = Number(digits ?? Number.NaN);
  if (port <= 65_535 && (ipv6 === undefined || isIPv6(ipv6))) return { host: ipv6 ?? host ?? LOOPBACK, port };
  throw invalidOption(`'${text}' is not PORT or HOST:PORT; write an IPv6 address in brackets, as [::1]:9464`);
}
