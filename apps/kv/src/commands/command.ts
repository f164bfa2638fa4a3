import type { Arguments } from '../resp/arguments.js';
import type { RespVersion } from '../resp/writer.js';
import type { CommandContext } from './command-context.js';

/** The state of a client's connection. */
export interface Session {
  readonly id: number;
  version: RespVersion;
  name: string;
  authenticated: boolean;
  readonly address: string;
  /** The connection ends when its replies have left. */
  quit(): void;
}

/**
 * Where a command runs: at the server that received it; at the server of its key; at those of its keys; at all
 * servers; or at the server of a scan's slot.
 */
export type Route = 'here' | 'key' | 'keys' | 'everywhere' | 'scan';
/** How the replies of several servers become one. */
export type Merge = 'sum' | 'ok' | 'positions' | 'concatenation';

export interface Command {
  /** Lower case. */
  readonly name: string;
  /** Arguments, the name included; negative: at least. */
  readonly arity: number;
  readonly flags: readonly string[];
  readonly route: Route;
  /** Arguments from one key to the next; 0 without keys. */
  readonly step: number;
  readonly merge: Merge | undefined;
  /** The command is done in steps: it is sent again as long as the reply is an integer; the client's next command waits. */
  readonly inSteps: boolean;
  /** Writes exactly one reply, at once. @throws CommandError, which becomes the reply */
  readonly run: (x: CommandContext, args: Arguments, session: Session) => void;
}

type Details = Partial<Pick<Command, 'route' | 'step' | 'merge' | 'inSteps'>>;

/** A command on the one key that is its first argument. */
export function keyCommand(name: string, arity: number, flags: string, run: Command['run']): Command {
  return define(name, arity, flags, run, { route: 'key', step: 1 });
}

export function define(
  name: string,
  arity: number,
  flags: string,
  run: Command['run'],
  { route = 'here', step = 0, merge, inSteps = false }: Details = {},
): Command {
  return { name, arity, flags: flags.split(' '), route, step, merge, inSteps, run };
}
