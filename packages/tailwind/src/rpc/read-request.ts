import { readShape, type Shape } from '@rdmc/common/shapes';
import { messageOf, TailwindError } from '../errors.js';

/** Decodes a member's request to this member's `role`. @throws TailwindError ERR_RDMC_PROTOCOL */
export function readRequest<T>(shape: Shape<T>, body: unknown, from: number, role: string): T {
  try {
    return readShape(shape, body);
  } catch (cause) {
    const reason = messageOf(cause);
    const message = `Invalid request from member ${from} to the ${role}; run the same version at all members: ${reason}`;
    throw new TailwindError('ERR_RDMC_PROTOCOL', message, { cause });
  }
}
