import { expect } from 'vitest';

/** An error with its code and whatever else its class says of it. */
export type CodedError = Error & { readonly code: string } & Record<string, unknown>;

/** For `toEqual`: an error of this code. */
export function refusal(code: string): unknown {
  return expect.objectContaining({ code });
}

/** What a promise rejects with; fails where it resolves. */
export async function rejection<E = CodedError>(promise: Promise<unknown>): Promise<E> {
  try {
    await promise;
  } catch (error) {
    return error as E;
  }
  throw new Error('the promise resolved, and a rejection was expected');
}

/** What a call throws; fails where it returns. */
export function thrown<E = CodedError>(call: () => unknown): E {
  try {
    call();
  } catch (error) {
    return error as E;
  }
  throw new Error('the call returned, and an error was expected');
}

/** An error that is of this class; another one is thrown on. */
export function ofClass<E>(Wanted: abstract new (...args: never[]) => E, error: unknown): E {
  if (error instanceof Wanted) return error;
  throw error;
}
