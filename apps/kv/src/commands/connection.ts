import { createHash, timingSafeEqual } from 'node:crypto';
import { MAX_NAME_BYTES } from '../limits.js';
import type { Arguments } from '../resp/arguments.js';
import { CommandError, NOT_AN_INTEGER, SYNTAX } from '../resp/command-error.js';
import { type Command, define } from './command.js';
import type { CommandContext } from './command-context.js';
import type { Session } from './session.js';
import { SERVER_NAME, SERVER_VERSION } from './version.js';

function ping(x: CommandContext, args: Arguments): void {
  if (args.count > 2) throw new CommandError("ERR wrong number of arguments for 'ping' command");
  if (args.count === 2) x.writer.bulk(args.string(1));
  else x.writer.simple('PONG');
}

function echo(x: CommandContext, args: Arguments): void {
  x.writer.bulk(args.string(1));
}

function hello(x: CommandContext, args: Arguments, session: Session): void {
  let version = session.version;
  let at = 1;
  if (args.count > 1) {
    const wanted = args.integer(1);
    if (wanted === undefined)
      throw new CommandError('ERR Protocol version is not an integer or out of range');
    if (wanted !== 2 && wanted !== 3) throw new CommandError('NOPROTO unsupported protocol version');
    version = wanted;
    at = 2;
  }
  for (; at < args.count; at += 1) {
    const word = args.word(at);
    if (word === 'AUTH' && at + 2 < args.count) {
      checkPassword(x, session, args.string(at + 1), args.string(at + 2));
      at += 2;
    } else if (word === 'SETNAME' && at + 1 < args.count) {
      setName(session, args, at + 1);
      at += 1;
    } else throw new CommandError(`ERR Syntax error in HELLO option '${args.string(at)}'`);
  }
  if (!session.authenticated)
    throw new CommandError(
      'NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the same time',
    );
  session.version = version;
  tellServer(x, session);
}

/** A name is kept as long as its connection, and each client can read it. */
function setName(session: Session, args: Arguments, index: number): void {
  if (args.length(index) > MAX_NAME_BYTES)
    throw new CommandError(`ERR Client names cannot be longer than ${MAX_NAME_BYTES} bytes.`);
  const name = args.string(index);
  if (/[^!-~]/.test(name))
    throw new CommandError('ERR Client names cannot contain spaces, newlines or special characters.');
  session.name = name;
}

function tellServer({ writer, node }: CommandContext, session: Session): void {
  writer.version = session.version;
  writer.map(7);
  const pairs: [string, string | number][] = [
    ['server', SERVER_NAME],
    ['version', SERVER_VERSION],
    ['proto', session.version],
    ['id', session.id],
    ['mode', node.nodes().length > 1 ? 'cluster' : 'standalone'],
    ['role', 'master'],
  ];
  for (const [name, value] of pairs) {
    writer.bulk(name);
    if (typeof value === 'number') writer.integer(value);
    else writer.bulk(value);
  }
  writer.bulk('modules');
  writer.array(0);
}

function auth(x: CommandContext, args: Arguments, session: Session): void {
  if (args.count > 3) throw new CommandError(SYNTAX);
  const [user, password] = args.count === 2 ? ['default', args.string(1)] : [args.string(1), args.string(2)];
  if (x.node.password === undefined && args.count === 2)
    throw new CommandError(
      'ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?',
    );
  checkPassword(x, session, user, password);
  x.writer.ok();
}

function checkPassword({ node }: CommandContext, session: Session, user: string, password: string): void {
  const matches = node.password === undefined || timingSafeEqual(digest(password), digest(node.password));
  if (user !== 'default' || !matches)
    throw new CommandError('WRONGPASS invalid username-password pair or user is disabled.');
  session.authenticated = true;
}

/** Digests have equal lengths, which the comparison needs. */
function digest(text: string): Buffer {
  return createHash('sha256').update(text, 'latin1').digest();
}

function select(x: CommandContext, args: Arguments): void {
  const index = args.integer(1);
  if (index === undefined) throw new CommandError(NOT_AN_INTEGER);
  if (index !== 0) throw new CommandError('ERR DB index is out of range');
  x.writer.ok();
}

function quit(x: CommandContext, _: Arguments, session: Session): void {
  x.writer.ok();
  session.quit();
}

/** Replies are sent only when every backup has the writes before them, so WAIT can answer at once. */
function wait(x: CommandContext, args: Arguments): void {
  const [replicas, timeout] = [args.integer(1), args.integer(2)];
  if (replicas === undefined || timeout === undefined) throw new CommandError(NOT_AN_INTEGER);
  if (timeout < 0) throw new CommandError('ERR timeout is negative');
  x.writer.integer(x.store.replicas);
}

function client(x: CommandContext, args: Arguments, session: Session): void {
  const word = args.word(1);
  if (word === 'ID') x.writer.integer(session.id);
  else if (word === 'GETNAME') x.writer.bulkOrMissing(session.name === '' ? undefined : session.name);
  else if (word === 'SETNAME' && args.count === 3) {
    setName(session, args, 2);
    x.writer.ok();
  } else if (['SETINFO', 'NO-EVICT', 'NO-TOUCH'].includes(word)) x.writer.ok();
  else if (word === 'LIST') x.writer.bulk(`${x.node.clientList().join('\n')}\n`);
  else if (word === 'INFO')
    x.writer.bulk(`id=${session.id} addr=${session.address} name=${session.name} resp=${session.version}`);
  else throw new CommandError(`ERR unknown subcommand '${args.string(1)}'. Try CLIENT HELP.`);
}

function reset(x: CommandContext, _: Arguments, session: Session): void {
  session.version = 2;
  session.name = '';
  session.transaction = undefined;
  session.authenticated = x.node.password === undefined;
  x.writer.simple('RESET');
}

function time(x: CommandContext): void {
  const now = Date.now();
  x.writer.array(2);
  x.writer.bulk(String(Math.floor(now / 1000)));
  x.writer.bulk(String((now % 1000) * 1000));
}

function ok(x: CommandContext): void {
  x.writer.ok();
}

const BRIEF = { isBrief: true };

export const connectionCommands: readonly Command[] = [
  define('ping', -1, 'fast', ping, BRIEF),
  define('echo', 2, 'fast', echo, BRIEF),
  define('hello', -1, 'noscript no_auth fast', hello),
  define('auth', -2, 'noscript no_auth fast', auth),
  define('quit', -1, 'noscript no_auth fast', quit),
  define('reset', 1, 'noscript no_auth fast', reset),
  define('select', 2, 'fast', select),
  define('wait', 3, 'noscript', wait, BRIEF),
  define('client', -2, 'admin', client),
  define('time', 1, 'fast', time),
  define('readonly', 1, 'fast', ok),
  define('readwrite', 1, 'fast', ok),
];
