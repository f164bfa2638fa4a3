import { CliError, usageError } from '../errors.js';
import { ExitCode } from '../exit-codes.js';
import { parseKey } from '../keys/key.js';
import { firstLine, onEnd } from '../keys/standard-input.js';
import { INSTRUCTIONS_VERSION, type Instructions, instructions } from '../remote/instructions.js';
import type { Terminal } from '../ui/terminal.js';
import type { ReceiveCommandOptions } from './options.js';
import { runReceive } from './run.js';

function parse(line: string): Instructions {
  if (line.trim() === '') throw usageError('--controlled: standard input ended without instructions');
  let document: unknown;
  try {
    document = JSON.parse(line);
  } catch {
    throw usageError('--controlled: the first line of standard input is not a JSON document');
  }
  const found = (document as { version?: unknown } | null)?.version;
  if (found !== INSTRUCTIONS_VERSION) {
    const message = `the sender's instructions have version ${String(found)}, this receiver supports ${INSTRUCTIONS_VERSION}`;
    throw new CliError('ERR_RDMC_VERSION_MISMATCH', message, {
      advice: 'install the same version of rdmc on all hosts',
    });
  }
  const result = instructions.safeParse(document);
  if (!result.success) {
    const { path, message } = result.error.issues[0]!;
    throw usageError(`--controlled: instructions: ${path.join('.')}: ${message}`);
  }
  return result.data;
}

/** Options beside `--controlled`, where they are given. */
export interface BesideControlled {
  readonly requireEncryption: boolean;
  /** By their names on the command line: those that contradict the sender's instructions. */
  readonly others: Readonly<Record<string, unknown>>;
}

/** An option that was ignored could be one that somebody relies on. @throws CliError ERR_RDMC_USAGE */
function refuseOthers(others: BesideControlled['others']): void {
  const found = Object.entries(others).find(([, value]) => value !== undefined && value !== false)?.[0];
  if (found === undefined) return;
  throw usageError(
    `--controlled and ${found} exclude each other: the instructions of the sender decide`,
    'remove one of them; --require-encryption is possible',
  );
}

function optionsOf(given: Instructions, requireEncryption: boolean): ReceiveCommandOptions {
  const { host, port, directory, makeDirectory, once, fsync, archive, meshPorts } = given;
  const { device, transport } = given;
  return {
    ...{ host, port, directory, makeDirectory, once, fsync, archive, device, transport },
    key: parseKey(given.key, 'in the instructions'),
    meshPorts: meshPorts ?? undefined,
    metrics: undefined,
    // The sender decides, unless the command line of this host is stricter (a forced command of sshd, for instance).
    requireEncryption,
    resume: true,
    resumeLimit: undefined,
    stdout: false,
    sharedMemory: undefined,
    parts: undefined,
    exec: undefined,
    logJson: false,
    verbose: false,
    quiet: false,
    json: true,
  };
}

/**
 * A receiver at the other end of a remote shell: takes the instructions of `remote/instructions.ts` from standard
 * input, and ends when that ends, so that it never outlives its sender.
 */
export async function runControlled(
  { requireEncryption, others }: BesideControlled,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<ExitCode> {
  refuseOthers(others);
  const { stdin } = process;
  const options = optionsOf(parse(await firstLine(stdin, signal)), requireEncryption);
  const left = new AbortController();
  const forget = onEnd(stdin, () => left.abort());
  try {
    return await runReceive(options, terminal, AbortSignal.any([signal, left.signal]));
  } catch (error) {
    if (left.signal.aborted && !signal.aborted) return ExitCode.OK;
    throw error;
  } finally {
    forget();
  }
}
