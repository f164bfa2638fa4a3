import { ReplyReader } from '../client/reply-reader.js';
import type { Request } from '../cluster/request.js';
import { type Command, define } from '../commands/command.js';
import type { CommandContext } from '../commands/command-context.js';
import { MAX_COMMAND_BYTES } from '../limits.js';
import { CommandError, CROSS_SLOT } from '../resp/command-error.js';
import { ERROR_MARK } from '../resp/writer.js';
import type { Client } from '../server/client.js';
import type { Executor } from '../server/executor.js';
import { slotOf } from '../store/slot.js';
import { encodeExec, encodeWatch, keysIn } from './internal-commands.js';
import { Transaction } from './transaction.js';

const OK = Buffer.from('+OK\r\n');
const NOT_ALLOWED = 'ERR Command not allowed inside a transaction';
const TOO_LARGE = `ERR ERR_RDMC_ENTRY_TOO_LARGE a transaction is over the limit of ${MAX_COMMAND_BYTES} bytes; nothing was done`;
/** Commands without keys that mean the same at each server. */
const ANYWHERE = new Set(['ping', 'echo', 'time', 'select', 'wait', 'readonly', 'readwrite']);
/** They run at once, and end a transaction. */
const AT_ONCE = new Set(['quit', 'reset']);

/** Sends requests for clients. */
export interface TransactionHost {
  readonly executor: Executor;
  /** The keys of a transaction may be in different slots: this server has all of them. */
  readonly isAlone: boolean;
  /** Sends a request to the server of its slot. */
  route(request: Request): void;
  /** Runs a request without a key here. */
  runHere(request: Request): void;
}

/** MULTI, EXEC, DISCARD, WATCH and UNWATCH: at the client's server, until EXEC sends all of it to the server of the keys. */
export class Transactions {
  constructor(private readonly host: TransactionHost) {}

  /** Whether the command in the client's parser was queued, or refused because it cannot be. */
  queued(client: Client, command: Command | undefined, refusal: string | undefined): boolean {
    const transaction = client.transaction!;
    if (!transaction.isOpen || AT_ONCE.has(command?.name ?? '')) return false;
    if (command?.route === 'transaction' && command.name !== 'unwatch' && refusal === undefined) return false;
    const why = refusal ?? this.#refusalOf(client, command!);
    if (why !== undefined) {
      transaction.breakOff();
      if (command?.name === 'exec') client.transaction = undefined;
      this.host.executor.fail(why);
      return true;
    }
    this.#queue(client, command!);
    this.host.executor.say('QUEUED');
    return true;
  }

  /** Runs MULTI, EXEC, DISCARD, WATCH or UNWATCH. The client's run is open, before and after. */
  run(client: Client, { name }: Command): void {
    const { executor } = this.host;
    const { transaction } = client;
    if (name === 'multi') this.#multi(client);
    else if (name === 'watch') this.#watch(client);
    else if (name === 'unwatch') {
      client.transaction = undefined;
      executor.say('OK');
    } else if (!transaction?.isOpen) executor.fail(`ERR ${name.toUpperCase()} without MULTI`);
    else {
      client.transaction = undefined;
      if (name === 'exec') this.#exec(client, transaction);
      else executor.say('OK');
    }
  }

  /** Why a command cannot be in a transaction; undefined: it can. */
  #refusalOf({ transaction, parser }: Client, command: Command): string | undefined {
    const { arguments: args, command: bytes } = parser;
    const isKeyed = command.route === 'key' || command.route === 'keys' || command.name === 'unwatch';
    if (!isKeyed && !ANYWHERE.has(command.name)) return NOT_ALLOWED;
    if (!transaction!.hasRoom(args.count, bytes.length)) return TOO_LARGE;
    const refusal = command.refusalOf?.(args);
    if (refusal !== undefined || this.host.isAlone) return refusal;
    const slots = new Set<number>();
    for (const index of keysIn(command, args)) slots.add(this.host.executor.slot(args, index));
    return slots.size > 1 ? CROSS_SLOT : undefined;
  }

  #queue({ transaction, parser }: Client, command: Command): void {
    const args = parser.arguments;
    const words: string[] = [];
    for (let i = 0; i < args.count; i += 1) words.push(args.string(i));
    transaction!.queue(words, parser.command.length, command.flags.includes('write'));
    for (const index of keysIn(command, args)) {
      transaction!.touch(this.host.executor.slot(args, index), args.string(index));
    }
  }

  #multi(client: Client): void {
    client.transaction ??= new Transaction();
    if (client.transaction.isOpen) {
      this.host.executor.fail('ERR MULTI calls can not be nested');
      return;
    }
    client.transaction.isOpen = true;
    this.host.executor.say('OK');
  }

  /** The client's next command waits for the tokens. */
  #watch(client: Client): void {
    const { executor, isAlone } = this.host;
    client.transaction ??= new Transaction();
    const { transaction } = client;
    if (transaction.isOpen) {
      executor.fail('ERR WATCH inside MULTI is not allowed');
      return;
    }
    const keys = keysOf(client);
    if (!transaction.hasRoom(2 * keys.length, client.parser.command.length)) {
      executor.fail(TOO_LARGE);
      return;
    }
    const slots = new Set(keys.map(slotOfText));
    if (transaction.slot >= 0) slots.add(transaction.slot);
    if (slots.size > 1 && !isAlone) {
      executor.fail(CROSS_SLOT);
      return;
    }
    const [slot] = slots;
    const bytes = encodeWatch(keys);
    this.#send(client, { slot: slot!, writes: false, bytes, isBarrier: true }, (reply) => {
      if (reply[0] === ERROR_MARK) return reply;
      const tokens = readTokens(reply);
      for (const [index, key] of keys.entries()) transaction.watch(key, tokens[index]!);
      transaction.touch(slot!, keys[0]!);
      return OK;
    });
  }

  #exec(client: Client, transaction: Transaction): void {
    const { executor, isAlone } = this.host;
    if (transaction.isBroken) {
      executor.fail('EXECABORT Transaction discarded because of previous errors.');
      return;
    }
    if (transaction.isCrossSlot && !isAlone) {
      executor.fail(CROSS_SLOT);
      return;
    }
    const { slot, writes } = transaction;
    const bytes = encodeExec(transaction);
    this.#send(client, { slot, writes, bytes, isBarrier: false }, (reply) => reply);
  }

  /** Asks the server of the slot, and answers the client with what `take` makes of its reply. */
  #send(
    client: Client,
    { slot, writes, bytes, isBarrier }: Pick<Request, 'slot' | 'writes' | 'bytes'> & { isBarrier: boolean },
    take: (reply: Buffer) => Buffer,
  ): void {
    const { executor } = this.host;
    executor.endRun();
    const isLong = !isBarrier;
    const chunk = client.expect(bytes.length, isBarrier, isLong);
    const done = (reply: Buffer): void => client.answer(chunk, take(reply), bytes.length, isLong);
    const request = { slot, version: client.version, receiver: client, writes, bytes, done };
    if (slot < 0) this.host.runHere(request);
    else this.host.route(request);
    executor.begin(client);
  }
}

function keysOf({ parser: { arguments: args } }: Client): string[] {
  const keys = new Set<string>();
  for (let i = 1; i < args.count; i += 1) keys.add(args.string(i));
  return [...keys];
}

function slotOfText(key: string): number {
  const bytes = Buffer.from(key, 'latin1');
  return slotOf(bytes, 0, bytes.length);
}

function readTokens(reply: Buffer): string[] {
  const reader = new ReplyReader();
  reader.push(reply);
  return reader.next() as string[];
}

/** The router runs these commands; they do not get to another server. */
function refuse(): never {
  throw new CommandError(NOT_ALLOWED);
}

/** In a transaction it has no effect: EXEC ends the watch of all keys. */
function unwatch(x: CommandContext): void {
  x.writer.ok();
}

const route = 'transaction';

export const transactionCommands: readonly Command[] = [
  define('multi', 1, 'noscript fast', refuse, { route }),
  define('exec', 1, 'noscript', refuse, { route }),
  define('discard', 1, 'noscript fast', refuse, { route }),
  define('watch', -2, 'noscript fast', refuse, { route, step: 1 }),
  define('unwatch', 1, 'noscript fast', unwatch, { route }),
];
