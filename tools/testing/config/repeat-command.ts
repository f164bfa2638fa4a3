/** One test that failed, or a file that could not be run. */
export interface Failure {
  /** The package's folder, relative to the repository. */
  folder: string;
  /** The test file, relative to that folder. */
  file: string;
  /** Names of the suites around the test and of the test, outermost first. Empty for the whole file. */
  names: readonly string[];
  /** Text of the failure. */
  text: string;
}

/** Fast-check's text for the failed example: `{ seed: -1, path: "0:1", endOnFailure: true }`. */
const FAST_CHECK = /\{ seed: (-?\d+), path: "([\d:]*)"/;
/** In the name of a test that follows from a seed. */
const IN_NAME = /RDMC_TEST_SEED=(\d+)/;

/** In single quotes for a shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** A pattern that matches exactly this text: `-t` takes a regular expression. */
function literal(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}

function variablesOf(names: readonly string[], text: string): string {
  const [, seed, path] = FAST_CHECK.exec(text) ?? [];
  if (seed !== undefined) return `RDMC_TEST_SEED=${seed} RDMC_TEST_PATH=${path} `;
  const [named] = IN_NAME.exec(names.join(' ')) ?? [];
  return named === undefined ? '' : `${named} `;
}

/** The command that repeats a failure, run in the root of the repository. */
export function repeatCommand({ folder, file, names, text }: Failure): string {
  const variables = variablesOf(names, text);
  const only = names.length === 0 ? '' : ` -t ${quoted(`^${literal(names.join(' '))}$`)}`;
  return `(cd ${folder} && ${variables}npx vitest run ${file}${only})`;
}
