/**
 * The commands that carry transactions to the server of their keys. Clients cannot send them.
 *
 * ```
 * rdmc.watch key …                                   a token for each key: it changes with every change of the key
 * rdmc.exec  key, number of watched keys, { key, token }…, { number of words, word … }…
 * ```
 *
 * The key of `rdmc.exec` decides where it runs; its commands' keys are in the same slot. A token has the id of the server's
 * store: versions of different servers cannot be compared, so a transaction whose keys changed hands is not executed.
 */
import { type Command, keyCommand } from '../commands/command.js';
import type { CommandContext } from '../commands/command-context.js';
import type { Session } from '../commands/session.js';
import { MAX_EXEC_REPLY_BYTES, MAX_MATCH_STEPS } from '../limits.js';
import { Arguments } from '../resp/arguments.js';
import { CommandError, CROSS_SLOT } from '../resp/command-error.js';
import { encodeCommand } from '../resp/encode.js';
import { refusalOf } from '../server/refusals.js';
import type { Transaction } from './transaction.js';

const WATCH = 'rdmc.watch';
const EXEC = 'rdmc.exec';
const REPLY_TOO_LARGE = `ERR the replies of a transaction are over ${MAX_EXEC_REPLY_BYTES} bytes; nothing was done`;
const TOO_LONG = 'ERR a transaction takes too long; nothing was done';
const MALFORMED = 'ERR a transaction of another server is malformed';
/** Places of the arguments of `rdmc.exec`. */
const [WATCHED, FIRST] = [2, 3] as const;

type Find = (args: Arguments) => Command | undefined;

interface Step {
  readonly command: Command;
  readonly args: Arguments;
}

export function encodeWatch(keys: readonly string[]): Buffer {
  return encodeCommand([WATCH, ...keys]);
}

export function encodeExec({ key, watched, commands }: Transaction): Buffer {
  const words = [EXEC, key, String(watched.size)];
  for (const pair of watched) words.push(...pair);
  for (const command of commands) {
    words.push(String(command.length));
    for (const word of command) words.push(word);
  }
  return encodeCommand(words);
}

/** @param find the commands that a transaction may have */
export function internalCommands(find: Find): readonly Command[] {
  return [
    keyCommand(WATCH, -2, 'readonly skip_slowlog', watch, { isBrief: false }),
    keyCommand(EXEC, -3, 'write skip_slowlog', (x, args, session) => exec(x, args, session, find), {
      isBrief: false,
    }),
  ];
}

function watch(x: CommandContext, args: Arguments): void {
  x.writer.array(args.count - 1);
  for (let i = 1; i < args.count; i += 1) x.writer.bulk(tokenOf(x, args, i));
}

/** Runs all commands in one step, with all of their writes in one append; or nothing, where a watched key has changed. */
function exec(x: CommandContext, args: Arguments, session: Session, find: Find): void {
  const watched = args.integer(WATCHED) ?? -1;
  const first = FIRST + 2 * watched;
  if (watched < 0 || first > args.count) throw new CommandError(MALFORMED);
  const steps = stepsOf(x, args, first, find);
  for (let i = FIRST; i < first; i += 2) {
    if (tokenOf(x, args, i) === args.string(i + 1)) continue;
    x.writer.missingArray();
    return;
  }
  const { sequence, effort } = x;
  const { length } = x.writer;
  const run = (): void => {
    x.writer.truncate(length);
    x.effort = effort;
    x.writer.array(steps.length);
    for (const step of steps) {
      x.attempt(step.command, step.args, session);
      // An error in place of the replies says that nothing was done: so it must come before the writes are kept.
      if (x.writer.length - length > MAX_EXEC_REPLY_BYTES) throw new CommandError(REPLY_TOO_LARGE);
      if (x.effort - effort > MAX_MATCH_STEPS) throw new CommandError(TOO_LONG);
    }
  };
  const undone = (): void => {
    x.sequence = sequence;
  };
  x.store.atomically(run, undone);
}

/** All commands, checked before the first one runs. @throws CommandError */
function stepsOf(x: CommandContext, args: Arguments, first: number, find: Find): Step[] {
  const steps: Step[] = [];
  for (let at = first; at < args.count; ) {
    const count = args.integer(at) ?? 0;
    if (count < 1 || count > args.count - at - 1) throw new CommandError(MALFORMED);
    const part = partOf(args, at + 1, count);
    const command = find(part);
    const refusal = refusalOf(command, part, true);
    if (refusal !== undefined) throw new CommandError(refusal);
    for (const index of keysIn(command!, part)) {
      if (!x.node.isOwn(x.slot(part, index))) throw new CommandError(CROSS_SLOT);
    }
    steps.push({ command: command!, args: part });
    at += 1 + count;
  }
  return steps;
}

function partOf(args: Arguments, first: number, count: number): Arguments {
  const part = new Arguments();
  part.reset(args.buffer);
  for (let i = first; i < first + count; i += 1) part.push(args.starts[i]!, args.ends[i]!);
  return part;
}

/** The arguments of a command that are keys. */
export function* keysIn(command: Command, args: Arguments): Generator<number, void> {
  if (command.step === 0) return;
  const end = command.route === 'keys' ? args.count : Math.min(args.count, command.first + 1);
  for (let i = command.first; i < end; i += command.step) yield i;
}

/** The reply waits until the last change of the key is acknowledged. */
function tokenOf(x: CommandContext, args: Arguments, index: number): string {
  const entry = x.find(args, index);
  const value = entry?.value;
  if (typeof value === 'object') x.waitFor(value.sequence);
  const version = typeof value === 'object' ? Math.max(value.version, entry!.version) : (entry?.version ?? 0);
  return `${x.store.id}:${version}`;
}
