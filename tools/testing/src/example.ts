import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'vitest';

/** The README in this folder shows `example.mjs` as it is. */
export function expectShown(folder: URL): void {
  const example = readFileSync(new URL('example.mjs', folder), 'utf8');
  expect(readmeIn(folder)).toContain(`\`\`\`js\n${example}\`\`\``);
}

/** `example.mjs` in this folder runs, and prints what the README beside it says. */
export async function expectPrinted(folder: URL): Promise<void> {
  const example = fileURLToPath(new URL('example.mjs', folder));
  const { stdout } = await promisify(execFile)(process.execPath, [example]);
  expect(readmeIn(folder)).toContain(`\`\`\`\n${stdout}\`\`\``);
}

/** Both. */
export async function expectExample(folder: URL): Promise<void> {
  expectShown(folder);
  await expectPrinted(folder);
}

function readmeIn(folder: URL): string {
  return readFileSync(new URL('README.md', folder), 'utf8');
}
