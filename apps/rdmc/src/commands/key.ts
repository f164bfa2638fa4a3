import type { Command } from 'commander';
import { newKey } from '../keys/key.js';
import { createKeyFile } from '../keys/key-file.js';
import type { Session } from '../session.js';
import { addHelpNotes } from './help.js';

export function addKeyCommand(program: Command, { terminal }: Session): void {
  const command = program
    .command('key')
    .description('Make a key for cast and receive: in a new file, or printed.')
    .argument('[file]', 'a file that does not exist yet; only you will be able to read it')
    .action(async (file: string | undefined) => {
      if (file === undefined) return terminal.out(newKey());
      await createKeyFile(file);
      terminal.out(`A new key is in ${file}, which only you can read (mode 0600).`);
      terminal.out('Copy it to all hosts of a cast in a way that nobody else can read, such as scp -p.');
    });
  addHelpNotes(command, {
    about: [
      'Whoever has the key can put files into the directory of a receiver that has it too. It is 32 random bytes,',
      'written as 64 hexadecimal digits. cast and receive take it with --key-file, in RDMC_KEY, or with --key-stdin.',
      'rdmc cast --ssh needs none: it makes one for each cast.',
    ],
    examples: [
      ['rdmc key cast.key', 'a new file'],
      ['rdmc key', 'for a secret store: rdmc key | vault kv put secret/rdmc key=-'],
    ],
  });
}
