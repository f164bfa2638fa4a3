import type { CheckedCastOptions } from '../checked-cast-options.js';
import type { CastError } from '../errors.js';
import type { ReceiverLink } from './receiver-link.js';

/** The others continue without this receiver. */
export function dropReceiver(
  link: ReceiverLink,
  error: CastError,
  logger: CheckedCastOptions['logger'],
): void {
  link.fail(error);
  logger?.warn?.({ receiver: link.name, code: error.code }, error.message);
}
