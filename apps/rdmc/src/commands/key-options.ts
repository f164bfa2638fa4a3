import type { Command } from 'commander';
import * as z from 'zod';

/** The options by which `cast` and `receive` are given a key. */
export const keyOptions = {
  keyFile: z.string().min(1).optional(),
  keyStdin: z.boolean().default(false),
};

export function addKeyOptions(command: Command): Command {
  return command
    .option(
      '--key-file <path>',
      'file with the key that sender and receivers share; only you may be able to read it',
    )
    .option('--key-stdin', 'the first line of standard input is the key (else RDMC_KEY is, when set)');
}
