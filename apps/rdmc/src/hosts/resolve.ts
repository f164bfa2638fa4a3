import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { within } from '@rdmc/common';
import { CliError, codeOf } from '../errors.js';
import { ExitCode } from '../exit-codes.js';
import { formatEndpoint } from './endpoint.js';
import { duplicateHost, repeated, type Target } from './target.js';

/** Concurrent look-ups: the system's resolver has few threads, and name servers have limits. */
const LOOKUPS_AT_ONCE = 16;

/** A receiver whose address is known. */
export interface ResolvedTarget extends Target {
  readonly address: string;
}

type Lookup = (host: string) => Promise<string>;

const systemLookup: Lookup = async (host) => (await lookup(host)).address;

/** Runs `work` on all items, `width` at a time; results in the order of the items. */
export async function inParallel<Item, Result>(
  items: readonly Item[],
  width: number,
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results = new Array<Result>(items.length);
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < items.length) {
      const index = next;
      next += 1;
      results[index] = await work(items[index]!);
    }
  };
  await Promise.all(Array.from({ length: Math.min(width, items.length) }, lane));
  return results;
}

/** The address of each target, or the error of looking it up. @throws the reason of the signal: a resolver may take long */
export function lookUpAll(
  targets: readonly Target[],
  signal: AbortSignal,
  look: Lookup = systemLookup,
): Promise<{ target: Target; address?: string; error?: unknown }[]> {
  const found = inParallel(targets, LOOKUPS_AT_ONCE, async (target) => {
    signal.throwIfAborted();
    if (isIP(target.host.replace(/%.*/, '')) !== 0) return { target, address: target.host };
    try {
      return { target, address: await look(target.host) };
    } catch (error) {
      return { target, error };
    }
  });
  return within(found, { signal });
}

/**
 * @throws CliError ERR_RDMC_UNKNOWN_HOST with every host that does not resolve; ERR_RDMC_DUPLICATE_HOST where two names
 *   are one receiver; the reason of the signal
 */
export async function resolveTargets(
  targets: readonly Target[],
  defaultPort: number,
  signal: AbortSignal,
  look: Lookup = systemLookup,
): Promise<ResolvedTarget[]> {
  const found = await lookUpAll(targets, signal, look);
  const unknown = found.filter(({ address }) => address === undefined);
  if (unknown.length > 0) {
    const names = unknown.map(({ target, error }) => `${target.host} (${codeOf(error) ?? 'no answer'})`);
    throw new CliError('ERR_RDMC_UNKNOWN_HOST', `these names do not resolve: ${names.join(', ')}`, {
      exitCode: ExitCode.MEMBER_LOST,
      advice: 'check the spelling, /etc/hosts and the name server, or give addresses',
      cause: unknown[0]!.error,
    });
  }
  const resolved = found.map(({ target, address }) => ({ ...target, address: address! }));
  const twice = repeated(resolved, ({ address, port = defaultPort }) => `${address} ${port}`);
  if (twice.length > 0) {
    const all = twice.map(({ address, port = defaultPort }) =>
      resolved
        .filter((one) => one.address === address && (one.port ?? defaultPort) === port)
        .map(({ host }) => formatEndpoint({ host, port }))
        .join(' = '),
    );
    throw duplicateHost(all);
  }
  return resolved;
}
