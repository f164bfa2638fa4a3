import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const MAIN = fileURLToPath(new URL('../dist/main.js', import.meta.url));
const README = readFileSync(new URL('../README.md', import.meta.url), 'utf8');

/** Numbers differ from run to run, and so does their width. */
function shapeOf(text: string): string {
  return text
    .trim()
    .replaceAll(/\d+(\.\d+)?/g, '#')
    .replaceAll(/ +/g, ' ');
}

it('the README shows what the command prints', async () => {
  const [, options, printed] = /npx @rdmc\/training (.*)\n```\n\nIt prints:\n\n```\n([^`]*)```/.exec(README)!;
  const { stdout } = await promisify(execFile)('node', [MAIN, ...options!.split(' '), '--device', 'soft']);
  expect(shapeOf(stdout)).toBe(shapeOf(printed!));
});
