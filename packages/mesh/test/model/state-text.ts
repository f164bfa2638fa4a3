/** Fields that are not a part of the state or follow from it: the model itself, versions, and the digest of a roster. */
const NOT_OF_STATE: ReadonlySet<string> = new Set(['port', 'addedAt', 'changes', 'limits', 'folded']);

/**
 * A text that is equal for equal states. Faster than JSON, which is most of the time of a search. Maps by their keys, sets in
 * any order; a member's entry is that of its process, of which no other field changes.
 */
export function stateText(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value);
  if (Array.isArray(value)) return `[${value.map(stateText).join()}]`;
  if (value instanceof Map) {
    const entries = [...value].sort(([one], [other]) => one - other);
    return `<${entries.map(([key, each]) => `${key}=${stateText(each)}`).join()}>`;
  }
  if (value instanceof Set) return `<${[...value].sort().join()}>`;
  if ('instance' in value && 'host' in value) return entryText(value as unknown as Entry);
  let text = '{';
  for (const name of Object.keys(value)) {
    if (!NOT_OF_STATE.has(name)) text += `${name}=${stateText((value as Record<string, unknown>)[name])},`;
  }
  return `${text}}`;
}

interface Entry {
  readonly instance: string;
  readonly incarnation: number;
}

function entryText({ instance, incarnation }: Entry): string {
  return `${instance}.${incarnation}`;
}
