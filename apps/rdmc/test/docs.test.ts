import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { exitMeanings } from '../src/exit-codes.js';
import * as publicSurface from '../src/index.js';
import { answer } from './support/cli.js';

const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');
const sources = new URL('../src/', import.meta.url);

/** Codes of errors that this package creates. */
function ownCodes(): Set<string> {
  const files = readdirSync(sources, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.ts'),
  );
  const texts = files.map((name) => readFileSync(new URL(name, sources), 'utf8'));
  return new Set(
    texts.flatMap((text) => [...text.matchAll(/CliError\(\s*'(ERR_RDMC_\w+)'/g)].map(([, code]) => code!)),
  );
}

describe('README', () => {
  it('lists the exit codes as the command does', () => {
    const rows = [...readme.matchAll(/^\| (\d+) +\| (.+?) +\|$/gm)].map(([, code, meaning]) => [
      code,
      meaning,
    ]);
    expect(Object.fromEntries(rows)).toEqual(
      Object.fromEntries(Object.entries(exitMeanings).map(([code, meaning]) => [code, meaning])),
    );
  });

  it('lists every error code of the command', () => {
    const codes = ownCodes();
    expect(codes.size).toBeGreaterThan(3);
    for (const code of codes) expect(readme).toContain(`| \`${code}\``);
  });

  it('lists every export', () => {
    for (const name of Object.keys(publicSurface)) expect(readme).toContain(`\`${name}\``);
  });

  it('shows the schedule that the command draws', async () => {
    const { stdout } = await answer('schedule', '--nodes', '8', '--blocks', '6');
    expect(readme).toContain(`$ rdmc schedule --nodes 8 --blocks 6\n${stdout}`);
  });

  it.each(['demo', 'schedule', 'simulate', 'cast', 'receive'])(
    'lists every option of rdmc %s',
    async (command) => {
      const { stdout } = await answer(command, '--help');
      const options = [...stdout.matchAll(/^ {2}(?:-\w, )?(--[a-z-]+)/gm)].map(([, option]) => option!);
      expect(options.length).toBeGreaterThan(5);
      for (const option of options) if (option !== '--help') expect(readme).toContain(`| \`${option}`);
    },
  );
});
