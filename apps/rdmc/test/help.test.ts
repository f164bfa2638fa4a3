import { readdirSync, readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { commandTable } from '../src/command-table.js';
import { createProgram } from '../src/program.js';
import { createTerminal } from '../src/ui/terminal.js';
import { answer, Cli, run } from './support/cli.js';

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));

const DIST = fileURLToPath(new URL('../dist/', import.meta.url));
const listed = commandTable.filter(({ hidden }) => !hidden).map(({ name }) => name);
const COMMANDS = [
  ...listed.map((name) => [name]),
  ...['bandwidth', 'latency', 'rate', 'multicast'].map((name) => ['bench', name]),
];

describe('help', () => {
  it.each(COMMANDS.map((command) => [command.join(' '), command] as const))(
    'rdmc %s --help shows examples and exit codes',
    async (name, command) => {
      const { code, stdout, stderr } = await answer(...command, '--help');
      expect(code).toBe(0);
      expect(stderr).toBe('');
      expect(stdout).toContain(`Usage: rdmc ${name}`);
      expect(stdout).toContain(`  $ rdmc ${name}`);
      expect(stdout).toMatch(/^Exit codes:$/m);
      expect(stdout).toMatch(/^ {2,}2 {2}usage error/m);
    },
  );

  it('rdmc --help lists every command and every exit code', async () => {
    const { stdout } = await answer('--help');
    for (const name of listed) {
      expect(stdout).toMatch(new RegExp(`^ {2}${name}\\b`, 'm'));
    }
    for (const code of [0, 1, 2, 3, 4, 5, 6, 129, 130, 141, 143]) {
      expect(stdout).toMatch(new RegExp(`^ +${code} {2}\\w`, 'm'));
    }
  });

  it('rdmc --version prints the version', async () => {
    expect(await run('--version')).toMatchObject({ code: 0, stdout: `${version}\n` });
  });
});

describe('modules of commands', () => {
  afterEach(() => vi.restoreAllMocks());

  it.each([
    [[], []],
    [['--help'], []],
    [['--version'], []],
    [['help'], []],
    [['demos'], []],
    [['--json', 'cast'], []],
    [['fetch', '--help'], ['fetch']],
    [['help', 'serve'], ['serve']],
    [['--', 'devices'], ['devices']],
  ])('rdmc %j loads %j', async (words, expected) => {
    const loads = commandTable.map((entry) => [entry.name, vi.spyOn(entry, 'load')] as const);
    await createProgram({ terminal: createTerminal(), exitCode: 0 }, ['node', 'rdmc', ...words]);
    const loaded = loads.filter(([, load]) => load.mock.calls.length > 0).map(([name]) => name);
    expect(loaded).toEqual(expected);
  });

  it('are not loaded by the program itself, nor is what they need', () => {
    const { files, packages } = staticImports(join(DIST, 'main.js'));
    expect(packages.filter((name) => !isBuiltin(name)).sort()).toEqual(['@rdmc/common', 'commander']);
    expect(files.filter((file) => readFileSync(file, 'utf8').includes('ZodType'))).toEqual([]);
  });

  it('do not load the code of casts before they cast', () => {
    const modules = readdirSync(DIST).filter((name) => /^(cast|fetch|key|receive|serve)-\w+\.js$/.test(name));
    expect(modules).toHaveLength(5);
    for (const name of modules) expect(staticImports(join(DIST, name)).packages).not.toContain('@rdmc/cast');
  });
});

/** The files that Node.js loads with a built file, and the packages that these import. */
function staticImports(entry: string): { readonly files: string[]; readonly packages: string[] } {
  const files = [entry];
  const packages = new Set<string>();
  for (const file of files) {
    const source = readFileSync(file, 'utf8');
    for (const [, found] of source.matchAll(/^import\s[^'"]*["']([^"']+)["'];?$/gm)) {
      if (!found!.startsWith('.')) packages.add(found!);
      else if (!files.includes(join(dirname(file), found!))) files.push(join(dirname(file), found!));
    }
  }
  return { files, packages: [...packages] };
}

describe('usage errors', () => {
  it.each([
    ['no command', [], 'no command given'],
    ['an unknown command', ['demos'], "unknown command 'demos'"],
    ['an unknown option', ['doctor', '--all'], "unknown option '--all'"],
    ['a surplus argument', ['devices', 'soft'], 'too many arguments'],
    ['an option without its value', ['demo', '--members'], 'argument missing'],
    ['a surplus argument after --', ['--', 'devices', 'soft'], 'too many arguments'],
  ])('%s: exit code 2', async (_, args, message) => {
    const { code, stderr } = await answer(...args);
    expect(code).toBe(2);
    expect(stderr).toMatch(/error ERR_RDMC_USAGE: /);
    expect(stderr).toContain(message);
  });

  it('are a document on stdout as well with --json', async () => {
    const { code, stdout } = await run('demo', '--members', '1', '--json');
    expect(code).toBe(2);
    expect(JSON.parse(stdout).error).toMatchObject({ code: 'ERR_RDMC_USAGE', exitCode: 2 });
  });

  it('end quietly with 141 when the reader of the output goes away', async () => {
    const cli = new Cli(['schedule', '-n', '3000', '-k', '300', '--json']);
    cli.child.stdout!.destroy();
    expect(await cli.ended).toMatchObject({ code: 141, stderr: '' });
  });
});

describe('colours', () => {
  it('are absent where output is not a terminal', async () => {
    const { stdout } = await run('schedule');
    expect(stdout).not.toContain('\u001b');
  });
});
