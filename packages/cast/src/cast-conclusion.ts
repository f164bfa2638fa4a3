import type { CastSummary } from './cast-summary.js';
import { CastError } from './errors.js';
import type { ProblemList } from './problems.js';

/** The summary of a cast of which at least one receiver got something. @throws CastError where none did */
export function concluded(summary: CastSummary): CastSummary {
  const failed = summary.receivers.filter(({ state }) => state === 'failed');
  const nothing = summary.receivers.every(
    ({ state, code }) => state === 'failed' && code !== 'ERR_RDMC_PARTIAL',
  );
  if (!nothing) return summary;
  const codes = new Set(failed.map(({ code }) => code));
  const [first] = failed;
  // A receiver that was closed reports ERR_RDMC_ABORTED; for a cast that code means the signal of its caller.
  const isCommon = codes.size === 1 && first!.code !== 'ERR_RDMC_ABORTED';
  const code = isCommon ? first!.code! : 'ERR_RDMC_NO_RECEIVERS';
  const more = failed.length - 1;
  const others = more > 0 ? ` (and ${more} more receiver${more === 1 ? '' : 's'} failed)` : '';
  throw new CastError(code, `${first!.message}${others}`, { summary });
}

/** The error of a receiver that lacks entries. */
export function partial(problems: ProblemList): CastError {
  const number = problems.count === 1 ? 'One entry is' : `${problems.count} entries are`;
  return new CastError('ERR_RDMC_PARTIAL', `${number} missing: ${problems.describe()}`);
}
