import { expect } from 'vitest';

/** An error with its code and the other fields of its class. */
export type CodedError = Error & { readonly code: string } & Record<string, unknown>;

/** For `toEqual`: an error of this code. */
export function refusal(code: string): unknown {
  return expect.objectContaining({ code });
}

/** The error of a promise that rejects; fails if it resolves. */
export async function rejection<E = CodedError>(promise: Promise<unknown>): Promise<E> {
  try {
    await promise;
  } catch (error) {
    return error as E;
  }
  throw new Error('the promise resolved, and a rejection was expected');
}

/** The error of a call that throws; fails if it returns. */
export function thrown<E = CodedError>(call: () => unknown): E {
  try {
    call();
  } catch (error) {
    return error as E;
  }
  throw new Error('the call returned, and an error was expected');
}

/** An error of this class; other errors are thrown again. */
export function ofClass<E>(Wanted: abstract new (...args: never[]) => E, error: unknown): E {
  if (error instanceof Wanted) return error;
  throw error;
}
