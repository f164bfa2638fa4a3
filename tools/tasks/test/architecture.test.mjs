// The paths of docs/architecture.md: every function that they name is in the file that they name.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { root } from '../setup.mjs';

const text = readFileSync(join(root, 'docs/architecture.md'), 'utf8');
const [, paths] = text.match(/```paths\n([\s\S]*?)```/);
/** `Class.method`, `Class::method`, `table: key` or a function alone, and a file. */
const STEP = /^.{15}([A-Za-z]+(?:(?:\.|::|: )[A-Za-z]+)?) +((?:packages|apps)\/\S+\.(?:ts|cc))$/;
const steps = paths
  .split('\n')
  .map((line) => line.match(STEP))
  .filter((match) => match !== null)
  .map(([, name, file]) => ({ name, file }));

it('names every step of the paths with its file', () => {
  const lines = paths.split('\n').filter((line) => /\.(ts|cc)$/.test(line));
  expect(lines).toHaveLength(steps.length);
  expect(steps.length).toBeGreaterThan(50);
});

it.each(steps)('$name is in $file', ({ name, file }) => {
  expect(existsSync(join(root, file)), `there is no ${file}`).toBe(true);
  const source = readFileSync(join(root, file), 'utf8');
  const [owner, method] = name.split(/\.|::|: /);
  if (name.includes('::')) expect(source).toContain(`${name}(`);
  else if (name.includes(': ')) expect(source).toMatch(new RegExp(`${owner} = [\\s\\S]*\\b${method}: `));
  else if (method === undefined) expect(source).toMatch(new RegExp(`(function |Value )${owner}\\(`));
  else {
    expect(source).toMatch(new RegExp(`class ${owner}\\b`));
    expect(source).toMatch(
      new RegExp(`^\\s+((async|readonly|protected|private|override) )*#?${method}(\\(|<|:| = |: \\()`, 'm'),
    );
  }
});
