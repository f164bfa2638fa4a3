import { describe, type Operation } from './history.js';
import { checkRegister } from './linearizable.js';

/** Keys that one request wrote together, each of them in no other request. Afterwards all are there, or none. */
export interface WrittenTogether {
  readonly keys: readonly string[];
  /** What each was set to. */
  readonly values: readonly string[];
  readonly acknowledged: boolean;
}

export interface Violation {
  readonly key: string;
  readonly message: string;
}

/**
 * What is wrong with a history; nothing, if all is well: every key linearizable by itself, every value read one that
 * somebody wrote, and what was written together there as a whole. A write that was acknowledged and is lost is seen by
 * the reads of every key that must end a history.
 *
 * @param last the value of every key at the end, as the history's last reads had it
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
    ? `a value was read that nobody wrote: ${describe(invented)}`
    : `no order of the operations gives these answers. The longest that was found:\n    ${verdict.after
        .slice(-TAIL)
        .map(describe)
        .join(
          '\n    ',
        )}\n  after which none of these can come:\n    ${verdict.stuck.map(describe).join('\n    ')}`;
  return [{ key, message: `${key}: ${why}` }];
}

const TAIL = 8;

/** Only for keys that are set as a whole: appending and counting make values that are in no request. */
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
    return [{ key, message: `${key}: acknowledged together, and not all there at the end` }];
  }
  if (new Set(found).size > 1) return [{ key, message: `${key}: written together, and half applied` }];
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
