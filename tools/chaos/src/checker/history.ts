/** A client's request for one key. Values are text; INCR increments a value that is a number. */
export type Action =
  | { readonly kind: 'get' }
  | { readonly kind: 'set'; readonly value: string }
  | { readonly kind: 'del' }
  | { readonly kind: 'incr' }
  | { readonly kind: 'append'; readonly value: string };

/** The answer: a value (null: the key does not exist), 'OK', or a number. */
export type Result = string | number | null;

/**
 * One operation of a client, from its call to the answer. Times are of one clock, in any unit. An operation without an
 * answer may have been carried out at any time after the call, or not at all. A history does not contain operations
 * that were certainly refused.
 */
export interface Operation {
  readonly client: number;
  readonly key: string;
  readonly action: Action;
  readonly calledAt: number;
  /** Undefined if there was no answer. */
  readonly answer: { readonly at: number; readonly result: Result } | undefined;
}

export function describe({ client, key, action, calledAt, answer }: Operation): string {
  const value = 'value' in action ? ` ${shorten(action.value)}` : '';
  const end = answer ? `${shorten(String(answer.result))} at ${answer.at}` : 'no answer';
  return `client ${client}: ${action.kind} ${key}${value} at ${calledAt} → ${end}`;
}

const SHOWN = 60;

function shorten(text: string): string {
  return text.length <= SHOWN ? text : `${text.slice(0, SHOWN)}… (${text.length})`;
}
