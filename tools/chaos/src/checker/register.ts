import type { Action, Result } from './history.js';

/** The value of a key; null if the key does not exist. */
export type State = string | null;

/** The behaviour of one key without failures and with one client at a time. */
export function apply(state: State, action: Action): { state: State; result: Result } {
  switch (action.kind) {
    case 'get':
      return { state, result: state };
    case 'set':
      return { state: action.value, result: 'OK' };
    case 'del':
      return { state: null, result: state === null ? 0 : 1 };
    case 'incr': {
      const next = Number(state ?? '0') + 1;
      return Number.isSafeInteger(next)
        ? { state: String(next), result: next }
        : { state, result: 'NOT A NUMBER' };
    }
    case 'append': {
      const next = (state ?? '') + action.value;
      return { state: next, result: next.length };
    }
  }
}
