import { parseArgs } from 'node:util';
import { invalidOption } from '../errors.js';
import type { LabOptions } from '../options.js';

const OPTIONS = {
  hosts: { type: 'string' },
  rate: { type: 'string' },
  burst: { type: 'string' },
  latency: { type: 'string' },
  delay: { type: 'string' },
  loss: { type: 'string' },
  racks: { type: 'string' },
  uplink: { type: 'string' },
  name: { type: 'string' },
  on: { type: 'string' },
  lab: { type: 'string' },
  each: { type: 'boolean' },
  all: { type: 'boolean' },
  json: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const;

type Name = keyof typeof OPTIONS;

export const LAB_OPTIONS: readonly Name[] = [
  'hosts',
  'rate',
  'burst',
  'latency',
  'delay',
  'loss',
  'racks',
  'uplink',
];

export interface Arguments {
  readonly options: Partial<Record<Name, string>>;
  readonly words: readonly string[];
  /** The words after `--`. */
  readonly command: readonly string[];
}

/** Parses options and words up to `--`; the rest is a command. */
export function parseArguments(argv: readonly string[]): Arguments {
  const end = argv.indexOf('--');
  const own = end < 0 ? argv : argv.slice(0, end);
  try {
    const { values, positionals } = parseArgs({ args: [...own], options: OPTIONS, allowPositionals: true });
    const options = Object.entries(values).map(([name, value]) => [name, String(value)]);
    return {
      options: Object.fromEntries(options),
      words: positionals,
      command: end < 0 ? [] : argv.slice(end + 1),
    };
  } catch (error) {
    throw invalidOption(`${(error as Error).message.split('.')[0]}; see netlab --help`);
  }
}

/** Refuses unknown options and words of a command, instead of ignoring them. */
export function allow(args: Arguments, names: readonly Name[], words: number, usage: string): void {
  const unknown = Object.keys(args.options).find((name) => !names.includes(name as Name));
  if (unknown !== undefined)
    throw invalidOption(`--${unknown} is not an option of this command; usage: netlab ${usage}`);
  if (args.words.length !== words) throw invalidOption(`usage: netlab ${usage}`);
}

const wholeNumber = (text: string) => (/^\d+$/.test(text) ? Number(text) : Number.NaN);

export function labOptions({ options }: Arguments): LabOptions {
  const { hosts = '2', racks, uplink, rate, burst, latency, delay, loss, name } = options;
  return {
    hosts: /^\d+$/.test(hosts) ? Number(hosts) : hosts.split(','),
    ...(rate && { rate }),
    ...(burst && { burst }),
    ...(latency && { latency }),
    ...(delay && { delay }),
    ...(loss && { loss }),
    ...(racks && { racks: wholeNumber(racks) }),
    ...(uplink && { uplink: { rate: uplink } }),
    ...(name && { name }),
  };
}
