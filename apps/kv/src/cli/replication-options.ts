import { type Command, Option } from 'commander';
import { DEFAULT_REPLICAS } from '../limits.js';
import { wholeNumber } from '../values.js';

/** How servers replicate. */
export interface ReplicationFlags {
  readonly replicas: number;
  readonly mode: 'one-sided' | 'rpc';
  readonly windowMs?: number;
}

/** The options of a server's replication, also of servers that a command starts. */
export function replicationOptions(command: Command): Command {
  return command
    .option(
      '-r, --replicas <n>',
      'backups of every write; 0: none, for comparison',
      wholeNumber(0, 16),
      DEFAULT_REPLICAS,
    )
    .addOption(
      new Option(
        '--mode <name>',
        'how backups are written; rpc: their processors copy the writes, for comparison',
      )
        .choices(['one-sided', 'rpc'])
        .default('one-sided'),
    )
    .option('--window-ms <n>', 'time that the data plane polls after work', wholeNumber(0, 60_000));
}

/** The arguments of servers that are started with these options. */
export function replicationArguments({ replicas, mode, windowMs }: ReplicationFlags): string[] {
  const polling = windowMs === undefined ? [] : ['--window-ms', String(windowMs)];
  return ['--replicas', String(replicas), '--mode', mode, ...polling];
}
