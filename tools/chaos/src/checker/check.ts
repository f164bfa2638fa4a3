import { describe, type Operation } from './history.js';
import { checkRegister } from './linearizable.js';

/** Keys that one request wrote together, and no other request wrote. Afterwards all are there, or none. */
export interface WrittenTogether {
  readonly keys: readonly string[];
  /** The value of each key. */
  readonly values: readonly string[];
  readonly acknowledged: boolean;
}

export interface Violation {
  readonly key: string;
  readonly message: string;
}

/**
 * The violations in a history; empty if it is correct: every key is linearizable by itself, every value that was read
 * had been written, and keys that were written together are all there or none. A history must end with reads of every
 * key; they detect an acknowledged write that was lost.
 *
 * @param last the value of every key at the end, from the history's last reads
 */
export function check(
  operations: readonly Operation[],
  together: readonly WrittenTogether[] = [],
  last: ReadonlyMap<string, string | null> = new Map(),
): Violation[] {
  const violations = [...byKey(operations)].flatMap(([key, mine]) => checkKey(key, mine));
  return [...violations, ...together.flatMap((group) => checkTogether(group, last))];
}

function checkKey(key: string, operations: readonly Operation[]): Violation[] {
  const verdict = checkRegister(operations);
  if (verdict.ok) return [];
  if (verdict.ok === undefined) return [{ key, message: `${key}: ${verdict.reason}` }];
  const invented = operations.find((operation) => isInvented(operation, operations));
  const why = invented
    ? `a value was read that no request wrote: ${describe(invented)}`
    : `no order of the operations gives these answers. The longest valid order:\n    ${verdict.after
        .slice(-TAIL)
        .map(describe)
        .join(
          '\n    ',
        )}\n  none of these operations can follow:\n    ${verdict.stuck.map(describe).join('\n    ')}`;
  return [{ key, message: `${key}: ${why}` }];
}

const TAIL = 8;

/** Only for keys that are only set: appends and increments create values that are not in any request. */
function isInvented({ action, answer }: Operation, all: readonly Operation[]): boolean {
  const value = answer?.result;
  if (action.kind !== 'get' || typeof value !== 'string') return false;
  if (all.some((other) => other.action.kind === 'append' || other.action.kind === 'incr')) return false;
  return !all.some((other) => 'value' in other.action && other.action.value === value);
}

function checkTogether(
  { keys, values, acknowledged }: WrittenTogether,
  last: ReadonlyMap<string, string | null>,
): Violation[] {
  const found = keys.map((key, index) => last.get(key) === values[index]);
  const key = keys.join(', ');
  if (acknowledged && found.includes(false)) {
    return [{ key, message: `${key}: acknowledged together, but not all are there at the end` }];
  }
  if (new Set(found).size > 1)
    return [{ key, message: `${key}: written together, but only a part was applied` }];
  return [];
}

function byKey(operations: readonly Operation[]): Map<string, Operation[]> {
  const groups = new Map<string, Operation[]>();
  for (const operation of operations) {
    const mine = groups.get(operation.key);
    if (mine) mine.push(operation);
    else groups.set(operation.key, [operation]);
  }
  return groups;
}
