import type { ReceiverFrame } from '../control/frames.js';
import { CastError, protocolError } from '../errors.js';

/** The next frame of a receiver, which must be of a type. @throws CastError */
export async function expectFrame<T extends ReceiverFrame['type']>(
  frames: AsyncIterator<ReceiverFrame, void, undefined>,
  type: T,
  name: string,
): Promise<Extract<ReceiverFrame, { type: T }>> {
  const { value, done } = await frames.next();
  if (done)
    throw new CastError('ERR_RDMC_CAST_UNREACHABLE', `${name} closed the connection`, { receiver: name });
  if (value.type === type) return value as Extract<ReceiverFrame, { type: T }>;
  if (value.type === 'refused' || value.type === 'failed') throw reportedError(name, value);
  throw protocolError(`${name} sent '${value.type}' instead of '${type}'`);
}

/** The error that a receiver has reported. */
export function reportedError(
  name: string,
  { code, message }: { readonly code: string; readonly message: string },
): CastError {
  return new CastError(code, `${name}: ${message}`, { receiver: name });
}
