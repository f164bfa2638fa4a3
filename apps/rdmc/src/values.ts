import { parseWholeNumber } from '@rdmc/common';
import { algorithms } from '@rdmc/schedule';
import * as z from 'zod';
import { usageError } from './errors.js';
import { formatBytes, formatRate, parseDuration, parseRate, parseSize } from './ui/units.js';

/** Parsers of option values. Each parses the text of the command line. */

/** Bytes per second: 1 Mbit/s and 1 Tbit/s, as for the option `linkRate` of @rdmc/verbs. */
const LEAST_LINK = 125_000;
const MOST_LINK = 125e9;

/** A check whose error says what was expected; zod's own texts are for programmers. */
export function expected<Value>(what: string, read: (text: string) => Value | undefined) {
  return z.string().transform((text, context): Value => {
    const value = read(text);
    if (value !== undefined) return value;
    context.addIssue({ code: 'custom', message: `expected ${what}` });
    return z.NEVER;
  });
}

export function wholeNumber(least: number, most: number) {
  return expected(`a whole number from ${least} to ${most}`, (text) => parseWholeNumber(text, least, most));
}

export function size(least: number, most: number) {
  const what = `a size from ${formatBytes(least)} to ${formatBytes(most)}, such as 64KiB or 1.5GiB`;
  return expected(what, (text) => {
    const bytes = parseSize(text);
    return bytes !== undefined && bytes >= least && bytes <= most ? bytes : undefined;
  });
}

/** A limit of what interrupted casts may leave: bytes, or a share of the disk. */
export const resumeLimit = expected(
  'a size such as 20GiB, or a share of the disk from 0% to 100%',
  (text) => {
    const percent = /^(\d{1,3}(?:\.\d{1,3})?)%$/.exec(text)?.[1];
    return percent === undefined ? parseSize(text) : Number(percent) <= 100 ? text : undefined;
  },
);

export function seconds(least: number, most: number) {
  return expected(`seconds from ${least} to ${most}`, (text) => {
    const value = Number(text);
    return text.trim() !== '' && value >= least && value <= most ? value : undefined;
  });
}

/** Milliseconds of a duration: `30`, `30s`, `500ms`, `2min`. */
export function duration(leastMs: number, mostMs: number) {
  return expected(
    `a duration from ${leastMs} ms to ${mostMs / 1000} s, such as 30s, 500ms or 2min`,
    (text) => {
      const milliseconds = parseDuration(text);
      const fits = milliseconds !== undefined && milliseconds >= leastMs && milliseconds <= mostMs;
      return fits ? milliseconds : undefined;
    },
  );
}

/** Bytes per second: `40MiB/s`, `300Mbit/s`. */
export function rate(least: number, most: number) {
  return expected(`a rate of at least ${formatRate(least)}, such as 40MiB/s or 300Mbit/s`, (text) => {
    const bytesPerSecond = parseRate(text);
    return bytesPerSecond !== undefined && bytesPerSecond >= least && bytesPerSecond <= most
      ? bytesPerSecond
      : undefined;
  });
}

/** Bits per second of a link: `400Mbit/s`, `50MiB/s`; or `none`. */
export const linkRate = z.union(
  [z.literal('none'), rate(LEAST_LINK, MOST_LINK).transform((bytes) => bytes * 8)],
  {
    error: () => 'expected none, or a rate from 1 Mbit/s to 1 Tbit/s, such as 400Mbit/s or 50MiB/s',
  },
);

/** A range of ports, both included: `7500-7600`; or one port. */
export const portRange = expected(
  'ports such as 7500-7600',
  (text): readonly [number, number] | undefined => {
    const match = /^(\d{1,5})(?:-(\d{1,5}))?$/.exec(text);
    if (!match) return undefined;
    const [first, last] = [Number(match[1]), Number(match[2] ?? match[1])];
    return first >= 1 && first <= last && last <= 65_535 ? [first, last] : undefined;
  },
);

/** Block size: `auto`, or a size. */
export const blockSize = z.union([z.literal('auto'), size(1, 2 ** 30)], {
  error: () => 'expected auto, or a size from 1 B to 1 GiB',
});

/** A list separated by commas. */
export function list<Item extends z.ZodType<unknown, string>>(item: Item) {
  return z
    .string()
    .transform((text) => text.split(',').map((part) => part.trim()))
    .pipe(z.array(item).min(1));
}

export const algorithm = z.enum(algorithms, {
  error: () => `expected one of ${algorithms.join(', ')}`,
});

export const transport = z.enum(['auto', 'shm', 'tcp'], { error: () => 'expected auto, shm or tcp' });
export const device = z
  .string()
  .regex(/^[\w.-]{1,64}$/, 'expected auto, soft, ibverbs or the name of a device; rdmc devices lists them');

const kebab = (name: string): string => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

/**
 * Checks options as parsed by commander.
 * @throws CliError ERR_RDMC_USAGE that names the option, what was found and what was expected
 */
export function parseOptions<Schema extends z.ZodType>(schema: Schema, raw: unknown): z.output<Schema> {
  const result = schema.safeParse(raw);
  if (result.success) return result.data;
  const issue = result.error.issues[0]!;
  const name = String(issue.path[0] ?? '');
  const found = (raw as Record<string, unknown>)[name];
  const what = name ? `--${kebab(name)}: found ${JSON.stringify(found) ?? 'nothing'}; ` : '';
  throw usageError(`${what}${issue.message}`);
}
