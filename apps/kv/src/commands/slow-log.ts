import type { Arguments } from '../resp/arguments.js';
import { CommandError } from '../resp/command-error.js';
import type { Command } from './command.js';
import type { CommandContext } from './command-context.js';
import { container } from './container.js';

const DEFAULT_COUNT = 10;

function get(x: CommandContext, args: Arguments): void {
  if (args.count > 3)
    throw new CommandError(
      `ERR unknown subcommand or wrong number of arguments for '${args.string(1)}'. Try SLOWLOG HELP.`,
    );
  const count = args.count > 2 ? args.integer(2) : DEFAULT_COUNT;
  if (count === undefined || count < -1)
    throw new CommandError('ERR count should be greater than or equal to -1');
  const { slowLog } = x.node.monitor;
  const latest = count === 0 ? [] : slowLog.latest(count < 0 ? slowLog.length : count);
  x.writer.array(latest.length);
  for (const { id, at, durationUs, words, address, name } of latest) {
    x.writer.array(6);
    x.writer.integer(id);
    x.writer.integer(at);
    x.writer.integer(durationUs);
    x.writer.array(words.length);
    for (const word of words) x.writer.bulk(word);
    x.writer.bulk(address);
    x.writer.bulk(name);
  }
}

export const slowLogCommand: Command = container('slowlog', 'admin', {
  GET: {
    least: 2,
    most: Number.POSITIVE_INFINITY,
    run: get,
    help: ['GET [<count>]', 'Return the latest slow commands; -1: all'],
  },
  LEN: {
    least: 2,
    most: 2,
    run: (x) => x.writer.integer(x.node.monitor.slowLog.length),
    help: ['LEN', 'Return the number of slow commands that are kept'],
  },
  RESET: {
    least: 2,
    most: 2,
    run: (x) => {
      x.node.monitor.slowLog.reset();
      x.writer.ok();
    },
    help: ['RESET', 'Forget them'],
  },
});
