import { CliError, usageError } from '../errors.js';
import { ExitCode } from '../exit-codes.js';
import { type Endpoint, formatEndpoint } from './endpoint.js';
import { MAX_HOSTS } from './limits.js';

/** One receiver of a cast. */
export interface Target extends Endpoint {
  /** Hosts of the same rack share a switch; for `--algorithm hybrid`. */
  readonly rack?: string;
}

export function duplicateHost(names: readonly string[]): CliError {
  return new CliError('ERR_RDMC_DUPLICATE_HOST', `given more than once: ${names.join(', ')}`, {
    exitCode: ExitCode.USAGE,
    advice: 'give each receiver once; several receivers on one host need different ports: host:port',
  });
}

/** The first item of each key that occurs more than once, in order. */
export function repeated<Item>(items: readonly Item[], keyOf: (item: Item) => string): Item[] {
  const counts = new Map<string, number>();
  for (const item of items) counts.set(keyOf(item), (counts.get(keyOf(item)) ?? 0) + 1);
  const seen = new Set<string>();
  return items.filter((item) => {
    const key = keyOf(item);
    if (counts.get(key) === 1 || seen.has(key)) return false;
    seen.add(key);
    return true;
  });
}

/**
 * Checks a list of receivers. Two receivers that differ only in the user are the same.
 * @throws CliError ERR_RDMC_USAGE for no receivers or too many, or where only some have a rack; ERR_RDMC_DUPLICATE_HOST
 *   with all that appear twice
 */
export function checkTargets(targets: readonly Target[], defaultPort: number): readonly Target[] {
  if (targets.length === 0) throw usageError('no receiver', 'give at least one: --to host1,host2');
  if (targets.length > MAX_HOSTS) throw usageError(`${targets.length} receivers; at most ${MAX_HOSTS}`);
  const keyOf = ({ host, port = defaultPort }: Target): string => `${host.toLowerCase()} ${port}`;
  const twice = repeated(targets, keyOf);
  if (twice.length > 0) throw duplicateHost(twice.map(({ host, port }) => formatEndpoint({ host, port })));
  const bare = targets.filter(({ rack }) => rack === undefined);
  if (bare.length > 0 && bare.length < targets.length) {
    const names = bare.map(({ host }) => host).join(', ');
    throw usageError(`these hosts do not have a rack: ${names}`, 'give all hosts a rack, or none');
  }
  return targets;
}
