import type { Arguments } from '../resp/arguments.js';
import { CommandError, NOT_AN_INTEGER, SYNTAX } from '../resp/command-error.js';
import type { Hash, KeyEntry, KeyValue } from '../store/hash.js';
import { fieldBytes, headBytes, objectBytes } from '../store/record.js';
import type { Command } from './command.js';
import type { CommandContext } from './command-context.js';
import { container } from './container.js';

/** Where Redis changes the encoding, by default. Ours does not differ: clients that ask expect these names. */
const [MOST_EMBEDDED_BYTES, MOST_LISTPACK_FIELDS, MOST_LISTPACK_BYTES] = [44, 512, 64] as const;
const INTEGER = /^(0|-?[1-9]\d{0,18})$/;

const NOT_LFU =
  'ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please note that when switching between ' +
  'policies at runtime LRU and LFU data will take some time to adjust.';
const NO_IDLE_TIME = 'ERR idle time not tracked: this server does not evict keys';

/** Runs what asks about a key; a key that does not exist is a missing value. */
function ofKey(run: (x: CommandContext, entry: KeyEntry, key: string) => void) {
  return (x: CommandContext, args: Arguments): void => {
    const entry = x.find(args, 2);
    if (entry) run(x, entry, args.string(2));
    else x.writer.missing();
  };
}

function refuse(error: string) {
  return ofKey(() => {
    throw new CommandError(error);
  });
}

function encodingOf(value: KeyValue): string {
  if (typeof value !== 'string') return isSmall(value) ? 'listpack' : 'hashtable';
  if (INTEGER.test(value) && BigInt.asIntN(64, BigInt(value)) === BigInt(value)) return 'int';
  return value.length <= MOST_EMBEDDED_BYTES ? 'embstr' : 'raw';
}

/** The encoding of a hash depends on all fields, so the reply waits for all of them. */
function encoding(x: CommandContext, { value }: KeyEntry): void {
  if (typeof value === 'object') x.waitFor(value.sequence);
  x.writer.bulk(encodingOf(value!));
}

function isSmall(hash: Hash): boolean {
  if (hash.size > MOST_LISTPACK_FIELDS) return false;
  for (const [field, { value }] of hash.entries()) {
    if (Math.max(field.length, value.length) > MOST_LISTPACK_BYTES) return false;
  }
  return true;
}

function usageOf({ value, expiresAt }: KeyEntry, key: string): number {
  if (typeof value === 'string') return objectBytes(key.length, value.length, expiresAt);
  let bytes = headBytes(key.length, expiresAt);
  for (const [field, entry] of value?.entries() ?? []) {
    bytes += fieldBytes(key.length, field.length, entry.value.length);
  }
  return bytes;
}

/** All fields are counted, so the number of samples makes no difference. @throws CommandError */
function checkSamples(args: Arguments): void {
  for (let i = 3; i < args.count; i += 2) {
    if (args.word(i) !== 'SAMPLES' || i + 1 === args.count) throw new CommandError(SYNTAX);
    const samples = args.integer(i + 1);
    if (samples === undefined) throw new CommandError(NOT_AN_INTEGER);
    if (samples < 0) throw new CommandError(SYNTAX);
  }
}

/** What the key takes of the log, here and at each backup: exactly what counts against the log's segments. */
function usage(x: CommandContext, args: Arguments): void {
  checkSamples(args);
  ofKey((context, entry, key) => {
    if (typeof entry.value === 'object') {
      context.waitFor(entry.value.sequence);
      context.effort += entry.value.size;
    }
    context.writer.integer(usageOf(entry, key));
  })(x, args);
}

const secondKey = { route: 'key', step: 1, first: 2 } as const;

export const objectCommands: readonly Command[] = [
  container(
    'object',
    'readonly',
    {
      ENCODING: {
        least: 3,
        most: 3,
        run: ofKey(encoding),
        help: ['ENCODING <key>', 'Return the encoding that Redis would use by default'],
      },
      FREQ: {
        least: 3,
        most: 3,
        run: refuse(NOT_LFU),
        help: ['FREQ <key>', 'Not tracked: keys are not evicted'],
      },
      IDLETIME: {
        least: 3,
        most: 3,
        run: refuse(NO_IDLE_TIME),
        help: ['IDLETIME <key>', 'Not tracked: keys are not evicted'],
      },
    },
    secondKey,
  ),
  container(
    'memory',
    'readonly',
    {
      USAGE: {
        least: 3,
        most: Number.POSITIVE_INFINITY,
        run: usage,
        help: [
          'USAGE <key> [SAMPLES <count>]',
          'Return the bytes that the key takes of the log, here and at each backup',
        ],
      },
    },
    secondKey,
  ),
];
