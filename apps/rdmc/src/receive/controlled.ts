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

function optionsOf(given: Instructions): ReceiveCommandOptions {
  const { host, port, directory, makeDirectory, once, fsync, meshPorts, device, transport } = given;
  return {
    ...{ host, port, directory, makeDirectory, once, fsync, device, transport },
    key: parseKey(given.key, 'in the instructions'),
    meshPorts: meshPorts ?? undefined,
    metrics: undefined,
    // The sender starts this receiver, and decides.
    requireEncryption: false,
    stdout: false,
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
export async function runControlled(terminal: Terminal, signal: AbortSignal): Promise<ExitCode> {
  const { stdin } = process;
  const options = optionsOf(parse(await firstLine(stdin, signal)));
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
