import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { invalidOption } from '../errors.js';
import type { RunOptions } from '../options.js';

const OPTIONS = {
  devices: { type: 'string' },
  loss: { type: 'string' },
  memory: { type: 'string' },
  processors: { type: 'string' },
  timeout: { type: 'string' },
  share: { type: 'string' },
  env: { type: 'string', multiple: true },
  help: { type: 'boolean', short: 'h' },
} as const;

export interface Arguments {
  readonly help: boolean;
  /** The first word, before options or after. */
  readonly name: string | undefined;
  readonly options: Omit<RunOptions, 'command'>;
  readonly given: readonly string[];
  /** The words after `--`. */
  readonly command: readonly string[];
}

function numeric(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  return /^\d+$/.test(text) ? Number(text) : Number.NaN;
}

function variables(pairs: readonly string[] = []): Record<string, string> {
  const split = pairs.map((pair) => {
    const at = pair.indexOf('=');
    if (at < 1) throw invalidOption(`--env takes NAME=VALUE, not '${pair}'`);
    return [pair.slice(0, at), pair.slice(at + 1)];
  });
  return Object.fromEntries(split);
}

function parse(own: readonly string[]) {
  try {
    return parseArgs({ args: [...own], options: OPTIONS, allowPositionals: true });
  } catch (error) {
    throw invalidOption(`${(error as Error).message.split('.')[0]}; see roce-vm --help`);
  }
}

/** Parses options and one word up to `--`; the rest is a command. */
export function parseArguments(argv: readonly string[]): Arguments {
  const end = argv.indexOf('--');
  const { values, positionals } = parse(end < 0 ? argv : argv.slice(0, end));
  if (positionals.length > 1) {
    throw invalidOption(`'${positionals[1]}' is not expected here; the command follows "--"`);
  }
  const { devices, memory, processors, timeout, loss, share, env } = values;
  const known = {
    devices: numeric(devices),
    memoryMiB: numeric(memory),
    processors: numeric(processors),
    timeoutSeconds: numeric(timeout),
    loss,
    shared: share === undefined ? undefined : resolve(share),
    env: env && variables(env),
  };
  return {
    help: values.help ?? false,
    name: positionals[0],
    options: Object.fromEntries(Object.entries(known).filter(([, value]) => value !== undefined)),
    given: Object.keys(values),
    command: end < 0 ? [] : argv.slice(end + 1),
  };
}
