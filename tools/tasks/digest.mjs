// The end of a test run that failed: a few lines for each failed part, because logs of long runs are cut.
import { stripVTControlCharacters } from 'node:util';

/** Lines of a failed part without names of tests: the reason is usually among the last. */
const LAST_LINES = 5;

/** Vitest's line before each failure, and its heading of errors outside of tests. */
const FAILED_TEST = /^ *FAIL +(.+?) *$/gm;
const OUTSIDE = /⎯ (Unhandled \w+) ⎯+\n+(.*)$/gm;

/** The failed tests that Vitest names in the output, and the errors outside of tests; of other output the last lines. */
export function digestOf(output) {
  const text = stripVTControlCharacters(output);
  const tests = [...text.matchAll(FAILED_TEST)].map(([, name]) => name);
  const outside = [...text.matchAll(OUTSIDE)]
    .filter(([, kind]) => kind !== 'Unhandled Errors')
    .map(([, kind, error]) => `${kind}: ${error}`);
  const named = [...new Set([...tests, ...outside])];
  if (named.length > 0) return named;
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  return lines.slice(-LAST_LINES);
}

/** The last lines of the run: each failed part with its failed tests. */
export function failureDigest(failures) {
  const parts = failures.map(({ label, output }) =>
    [`── ${label}`, ...digestOf(output).map((line) => `   ${line}`)].join('\n'),
  );
  return `Each failure above is followed by the command that repeats it. FAILED:\n${parts.join('\n')}`;
}
