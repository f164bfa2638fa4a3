import type { Arguments } from '../resp/arguments.js';
import type { Runnable } from './command-context.js';

/**
 * Where a command runs: at the server that received it; at the server of its key; at those of its keys; at all
 * servers; or at the server of a scan's slot. The router itself runs the others: `transaction` (see `Transactions`), and
 * `cluster`, about all members (see `AdminService`).
 */
export type Route = 'here' | 'key' | 'keys' | 'everywhere' | 'scan' | 'transaction' | 'cluster';
/** How the replies of several servers become one. */
export type Merge = 'sum' | 'ok' | 'positions' | 'concatenation';

export interface Command extends Runnable {
  /** Lower case. */
  readonly name: string;
  /** Arguments, the name included; negative: at least. */
  readonly arity: number;
  readonly route: Route;
  /** Arguments from one key to the next; 0 without keys. */
  readonly step: number;
  /** The argument with the first key; a command with fewer arguments does not have a key. */
  readonly first: number;
  readonly merge: Merge | undefined;
  /** The command is done in steps: it is sent again as long as the reply is an integer; the client's next command waits. */
  readonly inSteps: boolean;
  /** Of a command with subcommands: why arguments are refused that have its arity. A transaction asks before it queues them. */
  readonly refusalOf?: (args: Arguments) => string | undefined;
}

type Details = Partial<Pick<Command, 'route' | 'step' | 'first' | 'merge' | 'inSteps' | 'isBrief'>>;

/** A command on the one key that is its first argument. */
export function keyCommand(
  name: string,
  arity: number,
  flags: string,
  run: Command['run'],
  details: Details = {},
): Command {
  return define(name, arity, flags, run, { route: 'key', step: 1, isBrief: true, ...details });
}

export function define(
  name: string,
  arity: number,
  flags: string,
  run: Command['run'],
  { route = 'here', step = 0, first = 1, merge, inSteps = false, isBrief = false }: Details = {},
): Command {
  const words = flags === '' ? [] : flags.split(' ');
  return { name, arity, flags: words, route, step, first, merge, inSteps, isBrief, run };
}
