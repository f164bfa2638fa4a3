/** Names that the resolver does not answer. Needs the built dist. */
import { expect, it } from 'vitest';
import { newKey } from '../src/keys/key.js';
import { Cli } from './support/cli.js';
import { becomeWriter, newPipe } from './support/pipe.js';

/** Each look-up holds a thread of the pool, as the system's does: it reads a pipe, whose writer does not write. */
const HANGING = `
  import dns from 'node:dns/promises';
  import { readFile } from 'node:fs/promises';
  import { syncBuiltinESMExports } from 'node:module';
  dns.lookup = () => readFile(process.env.RDMC_TEST_PIPE);
  syncBuiltinESMExports();
`;

const COMMANDS: readonly (readonly string[])[] = [
  ['cast', '/dev/null', '--to', 'some.invalid'],
  ['cast', '/dev/null', '--to', 'some.invalid', '--plan'],
  ['cast', '/dev/null', '--to', 'some.invalid', '--wait-for', '1'],
  ['cast', '/dev/null', '--to', 'some.invalid', '--ssh'],
  ['fetch', 'some.invalid:1/name', '--dir', '/tmp'],
];

async function interrupted(args: readonly string[]) {
  const pipe = newPipe();
  const hook = `data:text/javascript,${encodeURIComponent(HANGING)}`;
  const key = args.includes('--ssh') ? {} : { RDMC_KEY: newKey() };
  const cli = new Cli(args, { NODE_OPTIONS: `--import ${hook}`, RDMC_TEST_PIPE: pipe, ...key });
  await becomeWriter(pipe);
  cli.child.kill('SIGINT');
  const { code, signal, stderr } = await cli.ended;
  return { args, code, signal, stderr };
}

it('a command ends after Ctrl-C while a name is looked up', async () => {
  const stderr = expect.stringContaining('error ERR_RDMC_INTERRUPTED: interrupted by SIGINT');
  // At once: each of them leaves its resolver some time.
  const ends = await Promise.all(COMMANDS.map(interrupted));
  expect(ends).toEqual(COMMANDS.map((args) => ({ args, code: null, signal: 'SIGINT', stderr })));
});
