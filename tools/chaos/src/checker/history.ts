/** What a client asked of one key. Values are text; a number in a value is one that INCR can raise. */
export type Action =
  | { readonly kind: 'get' }
  | { readonly kind: 'set'; readonly value: string }
  | { readonly kind: 'del' }
  | { readonly kind: 'incr' }
  | { readonly kind: 'append'; readonly value: string };

/** What it was told: a value (null: there is none), 'OK', or a number. */
export type Result = string | number | null;

/**
 * One operation of a client, from its call to the answer. Times are of one clock, in any unit. An operation whose
 * answer never came may have been done, at any time after the call, or not at all; one that was refused for certain
 * does not belong into a history.
 */
export interface Operation {
  readonly client: number;
  readonly key: string;
  readonly action: Action;
  readonly calledAt: number;
  /** Undefined: the answer never came. */
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
