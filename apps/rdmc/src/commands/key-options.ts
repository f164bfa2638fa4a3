import type { Command } from 'commander';
import * as z from 'zod';

/** The options for a key of `cast`, `receive`, `serve` and `fetch`. */
export const keyOptions = {
  keyFile: z.string().min(1).optional(),
  keyStdin: z.boolean().default(false),
};

export function addKeyOptions(
  command: Command,
  file = 'file with the key of sender and receivers; only its owner may have access',
): Command {
  return command
    .option('--key-file <path>', file)
    .option('--key-stdin', 'read the key from the first line of standard input (default: RDMC_KEY, if set)');
}
