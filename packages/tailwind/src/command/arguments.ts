import { parseArgs } from 'node:util';
import { invalidOption, messageOf } from '../errors.js';

export interface ScanArguments {
  readonly file: string;
  readonly json: boolean;
  readonly help: boolean;
  readonly logId: bigint | undefined;
  readonly segmentId: bigint | undefined;
  readonly incarnation: number | undefined;
  readonly byteLength: number | undefined;
  readonly checksum: number | undefined;
  readonly floorBytes: number | undefined;
}

export const USAGE = `tailwind-scan FILE: how much of a segment is complete, and the entries in it

  FILE is a replica's file of a backup, or the bare bytes of a segment

  --log-id N --segment-id N --incarnation N   whose segment it is (default: as the file says)
  --length N --checksum N                     the certificate it was closed with
  --floor N                                   it holds at least so many bytes
  --json                                      one JSON object instead of text
  --help

Numbers are decimal, or hexadecimal with 0x.
Exit code: 0 ok; 1 corrupt; 2 wrong arguments; 3 the file cannot be read or is not a segment
`;

const OPTIONS = {
  'log-id': { type: 'string' },
  'segment-id': { type: 'string' },
  incarnation: { type: 'string' },
  length: { type: 'string' },
  checksum: { type: 'string' },
  floor: { type: 'string' },
  json: { type: 'boolean' },
  help: { type: 'boolean' },
} as const;

/** @throws TailwindError ERR_RDMC_INVALID_OPTION */
export function parseScanArguments(argv: readonly string[]): ScanArguments {
  const { values, positionals } = parse(argv);
  const help = values.help ?? false;
  if (!help && positionals.length !== 1) throw invalidOption('tailwind-scan needs the name of one file');
  if ((values.length === undefined) !== (values.checksum === undefined)) {
    throw invalidOption('--length and --checksum go together');
  }
  return {
    file: positionals[0] ?? '',
    json: values.json ?? false,
    help,
    logId: bigintOf('--log-id', values['log-id']),
    segmentId: bigintOf('--segment-id', values['segment-id']),
    incarnation: numberOf('--incarnation', values.incarnation),
    byteLength: numberOf('--length', values.length),
    checksum: numberOf('--checksum', values.checksum),
    floorBytes: numberOf('--floor', values.floor),
  };
}

function parse(argv: readonly string[]) {
  try {
    return parseArgs({ args: [...argv], options: OPTIONS, allowPositionals: true });
  } catch (error) {
    throw invalidOption(messageOf(error));
  }
}

function bigintOf(name: string, text: string | undefined): bigint | undefined {
  if (text === undefined) return undefined;
  if (/^(0x[0-9a-f]+|[0-9]+)$/i.test(text)) return BigInt(text);
  throw invalidOption(`${name} must be a number, not '${text}'`);
}

function numberOf(name: string, text: string | undefined): number | undefined {
  const value = bigintOf(name, text);
  if (value === undefined) return undefined;
  if (value <= 0xffff_ffffn) return Number(value);
  throw invalidOption(`${name} must be at most 2^32 - 1, not ${value}`);
}
