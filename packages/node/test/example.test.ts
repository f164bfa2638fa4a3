import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const example = fileURLToPath(new URL('../example.mjs', import.meta.url));
const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');

it('the README shows the example and what it prints', async () => {
  expect(readme).toContain(`\`\`\`js\n${readFileSync(example, 'utf8')}\`\`\``);
  const { stdout } = await promisify(execFile)(process.execPath, [example]);
  expect(readme).toContain(`\`\`\`\n${stdout}\`\`\``);
});
