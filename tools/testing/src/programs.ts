import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'vitest';

/** A program of a document, and the output that the document claims. */
export interface Program {
  readonly code: string;
  readonly output: string;
  /** The document says "in some order". */
  readonly isUnordered: boolean;
}

const PROGRAM = /```js\n([\s\S]*?)```\n+It prints(, in some order)?:\n+```\n([\s\S]*?)```/g;

/** Programs of a Markdown document: JavaScript, then "It prints:" or "It prints, in some order:", then the output. */
export function programsOf(document: URL): Program[] {
  return [...readFileSync(document, 'utf8').matchAll(PROGRAM)].map(([, code, unordered, output]) => ({
    code: code!,
    output: output!,
    isUnordered: unordered !== undefined,
  }));
}

/** The program runs, and prints what its document says. It may import all packages. */
export async function expectProgram({ code, output, isUnordered }: Program): Promise<void> {
  // Inside of the repository, where the program finds its packages.
  const parent = fileURLToPath(new URL('../../../node_modules/', import.meta.url));
  const folder = mkdtempSync(join(parent, '.rdmc-program-'));
  try {
    const path = join(folder, 'program.mjs');
    writeFileSync(path, code);
    const { stdout } = await promisify(execFile)(process.execPath, [path]);
    const lines = (text: string): string[] => (isUnordered ? text.split('\n').sort() : text.split('\n'));
    expect(lines(stdout)).toEqual(lines(output));
  } finally {
    rmSync(folder, { recursive: true });
  }
}
