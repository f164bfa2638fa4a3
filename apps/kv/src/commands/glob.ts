/**
 * Redis's patterns: `*`, `?`, `[abc]`, `[^a-z]`, `\` before a character that means itself. Looks back to the last star
 * only, so the time is at most the product of both lengths; `effort` counts the steps.
 */
export function globMatches(pattern: string, text: string, effort?: { spend(steps: number): void }): boolean {
  let [p, t] = [0, 0];
  let [star, mark] = [-1, 0];
  effort?.spend(1);
  while (t < text.length) {
    if (pattern[p] === '*') {
      if (p === pattern.length - 1) return true;
      star = p;
      mark = t;
      p += 1;
      continue;
    }
    const next = p < pattern.length ? matchOne(pattern, p, text[t]!) : -1;
    if (next >= 0) {
      effort?.spend(next - p);
      p = next;
      t += 1;
    } else if (star >= 0) {
      effort?.spend(pattern[p] === '[' ? pattern.length - p : 1);
      p = star + 1;
      mark += 1;
      t = mark;
    } else return false;
  }
  while (pattern[p] === '*') p += 1;
  return p === pattern.length;
}

/** The place in the pattern after a match of one character; −1: the character does not match. */
function matchOne(pattern: string, at: number, character: string): number {
  const kind = pattern[at]!;
  if (kind === '?') return at + 1;
  if (kind === '[') return matchClass(pattern, at + 1, character);
  if (kind === '\\' && at + 1 < pattern.length) return pattern[at + 1] === character ? at + 2 : -1;
  return kind === character ? at + 1 : -1;
}

function matchClass(pattern: string, start: number, character: string): number {
  let at = start;
  const negated = pattern[at] === '^';
  if (negated) at += 1;
  let found = false;
  for (; at < pattern.length && pattern[at] !== ']'; at += 1) {
    if (pattern[at] === '\\' && at + 1 < pattern.length) at += 1;
    let [from, to] = [pattern[at]!, pattern[at]!];
    if (pattern[at + 1] === '-' && at + 2 < pattern.length) {
      at += 2;
      to = pattern[at]!;
      if (from > to) [from, to] = [to, from];
    }
    if (character >= from && character <= to) found = true;
  }
  // A class that does not end reaches to the end of the pattern.
  return found === negated ? -1 : Math.min(at + 1, pattern.length);
}
