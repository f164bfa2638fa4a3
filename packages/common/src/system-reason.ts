import { getSystemErrorMap } from 'node:util';
import { messageOf } from './thrown.js';

/**
 * Why a call of the system failed, in words: `no such file or directory`, `connection refused`. Without the code, the name
 * of the call, and the path or address: texts that have these already would have them twice. For other errors the message.
 */
export function systemReason(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return systemReason(error.errors[0]);
  const { errno } = (error ?? {}) as { errno?: unknown };
  const known = typeof errno === 'number' ? getSystemErrorMap().get(errno) : undefined;
  return known?.[1] ?? messageOf(error);
}
