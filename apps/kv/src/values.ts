import { messageOf, parseWholeNumber } from '@rdmc/common';
import type { Member } from '@rdmc/mesh';
import { type MetricsAddress, parseMetricsAddress } from '@rdmc/metrics';
import { InvalidArgumentError } from 'commander';

/** A whole number on the command line. */
export function wholeNumber(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = parseWholeNumber(text, least, most);
    if (value !== undefined) return value;
    throw new InvalidArgumentError(`needs a whole number from ${least} to ${most}`);
  };
}

/** Microseconds; −1: never. */
export function slowLogThreshold(text: string): number {
  return text === '-1' ? -1 : wholeNumber(0, 1e12)(text);
}

/** Seconds, above 0 and up to an hour; with decimals. */
export function seconds(text: string): number {
  const value = /^\d+(\.\d+)?$/.test(text) ? Number(text) : 0;
  if (value > 0 && value <= 3600) return value;
  throw new InvalidArgumentError('needs seconds, above 0 and up to 3600');
}

export interface Endpoint {
  readonly host: string;
  readonly port: number;
}

/** `host:port,host:port`, with brackets around IPv6. */
export function endpoints(text: string): Endpoint[] {
  return text.split(',').map((part) => {
    const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(part.trim());
    const port = Number(match?.[3]);
    if (!match || port < 1 || port > 65_535) {
      throw new InvalidArgumentError(`'${part}' is not host:port`);
    }
    return { host: match[1] ?? match[2]!, port };
  });
}

/** `host:port`. */
export function endpoint(text: string): Endpoint {
  const [only, ...more] = endpoints(text);
  if (more.length > 0) throw new InvalidArgumentError('needs one address');
  return only!;
}

/** The members of a cluster: the coordinator first, then the servers. */
export function members(text: string): Member[] {
  const all = endpoints(text).map((endpoint, id) => ({ id, ...endpoint }));
  if (all.length < 2) throw new InvalidArgumentError('needs the coordinator and at least one server');
  return all;
}

/** The address of an HTTP endpoint: `port`, or `host:port`. */
export function metricsAddress(text: string): MetricsAddress {
  try {
    return parseMetricsAddress(text);
  } catch (error) {
    throw new InvalidArgumentError(messageOf(error));
  }
}

/** Numbers of servers, with commas. */
export function serverIds(text: string): number[] {
  return text.split(',').map((part) => wholeNumber(1, 10_000)(part.trim()));
}
