import { readShape, type Shape } from '@rdmc/common/shapes';
import { messageOf, TailwindError } from '../errors.js';

/** What a member asks of this one, which is a `role`. @throws TailwindError ERR_RDMC_PROTOCOL */
export function readRequest<T>(shape: Shape<T>, body: unknown, from: number, role: string): T {
  try {
    return readShape(shape, body);
  } catch (cause) {
    const message = `Member ${from} asks what no ${role} understands: ${messageOf(cause)}`;
    throw new TailwindError('ERR_RDMC_PROTOCOL', message, { cause });
  }
}
