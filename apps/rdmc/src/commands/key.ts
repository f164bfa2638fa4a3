import type { Command } from 'commander';
import { newKey } from '../keys/key.js';
import { createKeyFile } from '../keys/key-file.js';
import type { Session } from '../session.js';
import { addHelpNotes } from './help.js';

export function addKeyCommand(program: Command, { terminal }: Session): void {
  const command = program
    .command('key')
    .description('Make a key for cast and receive, in a new file or on standard output.')
    .argument('[file]', 'path of the new file, which only you can read')
    .action(async (file: string | undefined) => {
      if (file === undefined) return terminal.out(newKey());
      await createKeyFile(file);
      terminal.out(`Wrote a new key to ${file}, which only you can read (mode 0600).`);
      terminal.out('Copy it to all hosts of a cast over an encrypted connection, for example with scp -p.');
    });
  addHelpNotes(command, {
    about: [
      'A process with the key can write files into the directory of a receiver with the same key. A key is 32 random',
      'bytes, as 64 hexadecimal digits. cast and receive take it with --key-file, in RDMC_KEY, or with --key-stdin.',
      'rdmc cast --ssh does not need this command: it makes a key for each cast.',
    ],
    examples: [
      ['rdmc key cast.key', 'a new file'],
      ['rdmc key', 'for a secret store: rdmc key | vault kv put secret/rdmc key=-'],
    ],
  });
}
