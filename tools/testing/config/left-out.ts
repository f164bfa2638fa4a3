/** A test that did not run. */
export interface LeftOut {
  /** The test file, relative to its package. */
  readonly file: string;
  /** Names of the suites around the test and of the test, outermost first. */
  readonly names: readonly string[];
}

/** At the end of a name: why the test did not run. */
const REASON = /\[skipped: ([^\]]+)\]$/;

/**
 * Lines about tests that did not run. Tests of one file and outermost suite with the same reason are one line with their number;
 * with `everyName`, and where there is only one of them, the line has the whole name.
 */
export function leftOutLines(tests: readonly LeftOut[], everyName: boolean): string[] {
  const groups = new Map<string, LeftOut[]>();
  for (const test of tests) {
    const key = everyName ? `${groups.size}` : groupOf(test);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [test]);
    else group.push(test);
  }
  return [...groups.values()].map(lineOf);
}

function reasonOf({ names }: LeftOut): string | undefined {
  return names.map((name) => REASON.exec(name)?.[1]).find((reason) => reason !== undefined);
}

/** Equal for tests that share a line. A test without a reason in its name has its own line. */
function groupOf(test: LeftOut): string {
  const { file, names } = test;
  return JSON.stringify([file, ...(reasonOf(test) === undefined ? names : [suiteOf(test), reasonOf(test)])]);
}

/** The outermost suite; empty for a test that is not in a suite. */
function suiteOf({ names }: LeftOut): string {
  return names.length > 1 ? names[0]!.replace(REASON, '').trim() : '';
}

function lineOf(group: readonly LeftOut[]): string {
  const [first] = group;
  const { file, names } = first!;
  if (group.length === 1) return `${file}: ${names.join(' > ')}`;
  const suite = suiteOf(first!);
  const place = suite === '' ? file : `${file}: ${suite}`;
  return `${place}: ${group.length} tests [skipped: ${reasonOf(first!)}]`;
}
