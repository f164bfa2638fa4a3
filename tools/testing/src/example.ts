import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'vitest';

/** The README in this folder shows this file of the folder as it is. */
export function expectShown(folder: URL, file = 'example.mjs'): void {
  const example = readFileSync(new URL(file, folder), 'utf8');
  expect(readmeIn(folder)).toContain(`\`\`\`js\n${example}\`\`\``);
}

/** This file of this folder runs, and prints what the README beside it says. */
export async function expectPrinted(folder: URL, file = 'example.mjs'): Promise<void> {
  const example = fileURLToPath(new URL(file, folder));
  const { stdout } = await promisify(execFile)(process.execPath, [example]);
  expect(readmeIn(folder)).toContain(`\`\`\`\n${stdout}\`\`\``);
}

/** Both. */
export async function expectExample(folder: URL, file = 'example.mjs'): Promise<void> {
  expectShown(folder, file);
  await expectPrinted(folder, file);
}

function readmeIn(folder: URL): string {
  return readFileSync(new URL('README.md', folder), 'utf8');
}
