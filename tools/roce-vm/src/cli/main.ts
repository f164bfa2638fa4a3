import { constants } from 'node:os';
import { RdmcError } from '@rdmc/common';
import { clearCache } from '../cache.js';
import { EXIT_OWN_FAILURE, EXIT_TIMEOUT } from '../constants.js';
import { invalidOption } from '../errors.js';
import { prepare, runInVm, shellInVm } from '../run.js';
import { type Arguments, parseArguments } from './arguments.js';
import { HELP } from './help.js';

const log = (line: string) => process.stderr.write(`roce-vm: ${line}\n`);

/** Refuses unused options of a command, instead of ignoring them. */
function bare({ given, command }: Arguments, usage: string): void {
  if (given.length > 0 || command.length > 0) throw invalidOption(`usage: roce-vm ${usage}`);
}

const COMMANDS: Readonly<Record<string, (args: Arguments, signal: AbortSignal) => Promise<number>>> = {
  run({ command, options }, signal) {
    if (command.length === 0) throw invalidOption('no command: roce-vm run [options] -- COMMAND...');
    return runInVm({ ...options, command, signal });
  },
  shell({ command, options }, signal) {
    if (command.length > 0) throw invalidOption('roce-vm shell does not take a command; use roce-vm run');
    return shellInVm({ ...options, command: [process.env.SHELL ?? '/bin/sh'], signal });
  },
  async setup(args) {
    bare(args, 'setup');
    log(`Linux ${prepare(log).release} is ready`);
    return 0;
  },
  async clean(args) {
    bare(args, 'clean');
    clearCache();
    return 0;
  },
};

/** Ends the machine at these signals, and then this process with the same signal. */
function endedBySignals(): AbortController {
  const controller = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => {
      process.exitCode = 128 + constants.signals[signal];
      controller.abort();
    });
  }
  return controller;
}

async function main(argv: readonly string[]): Promise<number> {
  const args = parseArguments(argv);
  if (args.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const { name = '' } = args;
  if (!Object.hasOwn(COMMANDS, name)) {
    throw invalidOption(`${name ? `there is no command ${name}` : 'no command given'}; see roce-vm --help`);
  }
  return COMMANDS[name]!(args, endedBySignals().signal);
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof RdmcError)) throw error;
  if (error.category !== 'aborted') {
    process.stderr.write(`roce-vm: ${error.message} [${error.code}]\n`);
    process.exitCode = error.category === 'timeout' ? EXIT_TIMEOUT : EXIT_OWN_FAILURE;
  }
}
