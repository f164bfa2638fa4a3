/** Prints one line for people, if there is one, and the same as an event for a program that started this one. */
export type Tell = (line: string | undefined, event: object) => void;

/** The parts of `process` that `outputOf` uses. */
type Output = Pick<NodeJS.Process, 'connected' | 'send' | 'stdout' | 'stderr' | 'exitCode'>;

/**
 * Tells the parent process of this package, or prints. A server goes on when nobody reads what it tells; if its parent has ended, that is
 * not known yet, and the end of the channel follows. Another command than a server fails if its output is lost otherwise.
 */
export function outputOf(process: Output): Tell {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', ({ code }: NodeJS.ErrnoException) => {
      if (code !== 'EPIPE') process.exitCode = 1;
    });
  }
  return (line, event) => {
    // With a function for the error, it is not an event that nobody handles.
    if (process.send && process.connected) process.send(event, undefined, undefined, () => {});
    else if (line !== undefined) process.stdout.write(`${line}\n`);
  };
}
