import type { Command } from 'commander';
import { runDemo } from '../demo/run.js';
import { wholeNumber } from '../values.js';
import type { Tell } from './tell.js';
import { type ClusterTlsFlags, clusterTls, clusterTlsOptions, serverTlsArguments } from './tls-options.js';

interface DemoFlags extends ClusterTlsFlags {
  readonly servers: number;
  readonly keys: number;
  readonly json?: boolean;
}

export function addDemoCommand(program: Command, tell: Tell): void {
  const command = program
    .command('demo')
    .description(
      'starts five servers and a coordinator on this machine, loads keys, kills a server with -9 and starts it again, kills the coordinator, and reads all keys',
    )
    .option(
      '-s, --servers <n>',
      'server processes; a recovery with three backups needs four that live',
      wholeNumber(5, 32),
      5,
    )
    .option('-k, --keys <n>', 'keys to load', wholeNumber(1, 100_000_000), 100_000)
    .option('--json', 'one JSON document instead of text');
  clusterTlsOptions(command).action(async (flags: DemoFlags) => {
    const { servers, keys, json } = flags;
    const options = { servers, keys, tls: clusterTls(flags), serverArguments: serverTlsArguments(flags) };
    const result = await runDemo(options, json ? () => {} : (line) => tell(line, {}));
    if (json) tell(JSON.stringify(result), result);
  });
}
