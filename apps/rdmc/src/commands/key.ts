import type { Command } from 'commander';
import * as z from 'zod';
import { usageError } from '../errors.js';
import { findKey } from '../keys/find-key.js';
import { newKey } from '../keys/key.js';
import { createKeyFile } from '../keys/key-file.js';
import { firstLine } from '../keys/standard-input.js';
import type { Session } from '../session.js';
import { parseOptions } from '../values.js';
import { addHelpNotes } from './help.js';
import { keyOptions } from './key-options.js';

const roles = ['all', 'fetch'] as const;

/** The checked options, by their names in the parser. */
export const keySchema = z.strictObject({
  role: z.enum(roles, { error: () => 'expected all or fetch' }),
  ...keyOptions,
});
type Raw = z.output<typeof keySchema>;

/** A new key, or the key for fetching that belongs to a given one. */
async function keyText(raw: Raw): Promise<string> {
  const { role, keyFile, keyStdin } = raw;
  if (role === 'all') {
    if (keyFile === undefined && !keyStdin) return newKey();
    throw usageError('--key-file and --key-stdin apply only to --role fetch', 'add --role fetch');
  }
  const key = await findKey(raw, process.env, () => firstLine(process.stdin));
  if (key === undefined)
    throw usageError('--role fetch: the key of the server is missing', 'give it: --key-file FILE');
  const { fetchKey } = await import('@rdmc/cast');
  return fetchKey(key);
}

export function defineKeyCommand(command: Command, { terminal }: Session): void {
  command
    .option('--role <role>', 'what the key is for: all; or fetch: only for rdmc fetch', 'all')
    .option('--key-file <path>', 'with --role fetch: file with the key of rdmc serve')
    .option('--key-stdin', 'with --role fetch: read that key from standard input (default: RDMC_KEY, if set)')
    .action(async (file: string | undefined, given: unknown) => {
      const raw = parseOptions(keySchema, given);
      const text = await keyText(raw);
      if (file === undefined) return terminal.out(text);
      await createKeyFile(file, text);
      const what = raw.role === 'fetch' ? 'a key for fetching' : 'a new key';
      terminal.out(`Wrote ${what} to ${file}, which only you can read (mode 0600).`);
      terminal.out(
        raw.role === 'fetch'
          ? 'Copy it to all hosts that fetch. With it they can fetch, and do nothing else.'
          : 'Copy it to all hosts of a cast over an encrypted connection, for example with scp -p.',
      );
    });
  addHelpNotes(command, {
    about: [
      'A process with the key can write files into the directory of a receiver with the same key. A key is 32 random',
      'bytes, as 64 hexadecimal digits. cast, receive, serve and fetch take it with --key-file, in RDMC_KEY, or with',
      '--key-stdin.',
      'rdmc cast --ssh does not need this command: it makes a key for each cast.',
      'A key for fetching (--role fetch) is made from the key of rdmc serve; the same key always gives the same one. With',
      'it a process can fetch; it cannot serve, cast, receive, or join a store.',
    ],
    examples: [
      ['rdmc key cast.key', 'a new file'],
      ['rdmc key', 'for a secret store: rdmc key | vault kv put secret/rdmc key=-'],
      ['rdmc key --role fetch --key-file cast.key fetch.key', 'for the hosts that only fetch'],
    ],
  });
}
