/** The command of `--exec`: its program and arguments. */
export interface SplitArguments {
  /** The arguments before `--exec`. */
  readonly argv: readonly string[];
  /** The rest of the command line; undefined without `--exec`. */
  readonly exec: readonly string[] | undefined;
}

/**
 * Separates the command of `rdmc receive --exec` from the options: it is the rest of the command line, so that its own
 * options are not read as options of rdmc. A `--` at its beginning is left out.
 */
export function splitExec(argv: readonly string[]): SplitArguments {
  const at = argv[2] === 'receive' ? argv.indexOf('--exec') : -1;
  if (at < 0) return { argv, exec: undefined };
  const rest = argv.slice(at + 1);
  return { argv: argv.slice(0, at), exec: rest[0] === '--' ? rest.slice(1) : rest };
}
