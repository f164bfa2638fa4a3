import { type ChildProcess, spawn } from 'node:child_process';
import { constants } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createLab } from '../create.js';
import { invalidOption, NetlabError } from '../errors.js';
import type { Netlab } from '../lab.js';
import { type Arguments, labOptions } from './arguments.js';

/** PATH with `netlab` and `netlab-rsh`, for programs in a lab. */
const BIN = join(dirname(fileURLToPath(import.meta.url)), '..', 'bin');

/** The exit code of a command, as in a shell. */
export function exitOf(child: ChildProcess, what: string): Promise<number> {
  return new Promise((resolve, reject) => {
    child.once('error', (error) =>
      reject(
        new NetlabError('ERR_RDMC_NETLAB_COMMAND_FAILED', `cannot run ${what}: ${error.message}`, error),
      ),
    );
    child.once('exit', (code, signal) => resolve(code ?? 128 + constants.signals[signal!]));
  });
}

const environment = (lab: Netlab) => ({
  ...process.env,
  ...lab.environment,
  PATH: [BIN, process.env.PATH ?? ''].join(delimiter),
});

/** Starts the command in the hosts of `--on` or `--each`; without them, in this machine's own namespace. */
function start(lab: Netlab, args: Arguments, command: readonly string[]): ChildProcess[] {
  const options = { stdio: 'inherit', env: environment(lab) } as const;
  const [program, ...rest] = command as [string, ...string[]];
  if (args.options.each) return lab.hosts.map((host) => lab.exec(host.name, program, rest, options));
  if (args.options.on) return [lab.exec(args.options.on, program, rest, options)];
  return [spawn(program, rest, options)];
}

/** `netlab run` and `netlab shell`: the first exit code that is not 0, else 0. */
export async function runInLab(args: Arguments, command: readonly string[]): Promise<number> {
  if (command.length === 0) throw invalidOption('no command: netlab run [options] -- COMMAND...');
  await using lab = await createLab(labOptions(args));
  const children = start(lab, args, command);
  // Ctrl-C reaches the command as well, and it decides; a signal to this process alone is passed on. This process ends after it.
  const handlers = (['SIGINT', 'SIGTERM', 'SIGHUP'] as const).map((signal) => {
    const handler = () => signal !== 'SIGINT' && children.map((child) => child.kill(signal));
    process.on(signal, handler);
    return () => process.removeListener(signal, handler);
  });
  const codes = await Promise.all(children.map((child) => exitOf(child, command[0]!)));
  for (const remove of handlers) remove();
  return codes.find((code) => code !== 0) ?? 0;
}
