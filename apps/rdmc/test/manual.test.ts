import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '@rdmc/testing';
import { beforeAll, describe, expect, it } from 'vitest';
import { completionScript } from '../src/manual/completion.js';
import { manualPage } from '../src/manual/manual-page.js';
import { allCommands, type CommandFacts, commandFacts } from '../src/manual/option-table.js';
import { shells } from '../src/manual/shells.js';
import { createWholeProgram } from '../src/program.js';
import { createTerminal } from '../src/ui/terminal.js';
import { answer } from './support/cli.js';

let facts: CommandFacts;
beforeAll(async () => {
  facts = commandFacts(await createWholeProgram({ terminal: createTerminal(), exitCode: 0 }));
});

const has = (program: string): boolean => spawnSync(program, ['--version']).error === undefined;

describe('the table of options', () => {
  it('has every command with its options, and what their values are', () => {
    const names = allCommands(facts).map(({ name }) => name);
    expect(names).toContain('rdmc cast');
    expect(names).toContain('rdmc bench latency');
    expect(names).not.toContain('rdmc manual');
    const cast = allCommands(facts).find(({ name }) => name === 'rdmc cast')!;
    const option = (long: string) => cast.options.find((each) => each.long === long);
    expect(cast.arguments).toBe('<path...>');
    expect(option('--hostfile')).toMatchObject({ takesValue: true, values: 'path' });
    expect(option('--algorithm')).toMatchObject({ short: '-a', values: expect.arrayContaining(['hybrid']) });
    expect(option('--ssh')).toMatchObject({ takesValue: false, values: undefined });
  });
});

/** What bash would complete at the end of a line. */
function completed(script: string, line: readonly string[]): string[] {
  const folder = temporaryDirectory();
  const path = join(folder, 'completion');
  writeFileSync(path, script);
  const program = [
    'complete() { :; }',
    `source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(( $# - 1 ))`,
    `_rdmc; printf "%s\\n" "\${COMPREPLY[@]}"`,
  ].join('\n');
  const output = execFileSync('bash', ['-c', program, 'bash', path, ...line], {
    cwd: folder,
    encoding: 'utf8',
  });
  return output.trim() === '' ? [] : output.trim().split('\n');
}

describe('completion', () => {
  it.each([
    [['rdmc', 'ca'], ['cast']],
    [['rdmc', 'cast', '--host'], ['--hostfile']],
    [['rdmc', 'cast', '--algorithm', 'hy'], ['hybrid']],
    [['rdmc', 'cast', '-a', 'chain', '--transport', 's'], ['shm']],
    [['rdmc', 'bench', 'l'], ['latency']],
    [['rdmc', 'bench', 'latency', '--op'], ['--operation']],
    [['rdmc', 'receive', '--stdo'], ['--stdout']],
    [['rdmc', 'cast', '--to', 'receive', '--reco'], []],
    [['rdmc', 'cast', 'comple'], ['completion']],
    [['rdmc', 'receive', '--dir', 'comple'], ['completion']],
    [['rdmc', 'cast', '--to', 'comple'], []],
  ])('of %j in bash is %j', (line, expected) => {
    expect(completed(completionScript('bash', facts), line)).toEqual(expected);
  });

  it.each(shells)('for %s names every command and every option', (shell) => {
    const script = completionScript(shell, facts);
    for (const { name, options } of allCommands(facts)) {
      expect(script).toContain(name.split(' ').at(-1)!);
      for (const { long, short } of options) {
        const fish = long ? `-l ${long.slice(2)}` : `-s ${short!.slice(1)}`;
        expect(script).toContain(shell === 'fish' ? fish : (long ?? short));
      }
    }
  });

  for (const shell of shells)
    it.skipIf(!has(shell))(`for ${shell} is a script without errors of syntax (needs ${shell})`, () => {
      const path = join(temporaryDirectory(), 'completion');
      writeFileSync(path, completionScript(shell, facts));
      execFileSync(shell, ['-n', path]);
    });

  it('is printed by the command; another shell is refused', async () => {
    expect((await answer('completion', 'bash')).stdout).toBe(`${completionScript('bash', facts)}\n`);
    expect(await answer('completion', 'tcsh')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('give one of bash, zsh, fish'),
    });
  });
});

describe('the page of the manual', () => {
  it('is that of the options (make it again: npm run manual -w @rdmc/cli)', () => {
    expect(readFileSync(new URL('../man/rdmc.1', import.meta.url), 'utf8')).toBe(manualPage(facts));
  });

  it('has no line that a formatter takes for a request by mistake', () => {
    const known = /^\.(\\"|TH|SH|SS|TP|PP|B|BR|I) ?/;
    for (const line of manualPage(facts).split('\n')) if (/^[.']/.test(line)) expect(line).toMatch(known);
  });
});
