import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '@rdmc/testing';
import { beforeEach, expect, test } from 'vitest';
import type { Mutant } from '../src/mutant.js';
import { Sources } from '../src/place.js';
import { StaleMutant } from '../src/stale.js';

const SOURCE = `
export class Buffer {
  #free = 0;
  // A comment: this.#free > 0
  take(count: number): boolean {
    if (this.#free >=   count /* enough */) { this.#free -= count; return true; }
    return false;
  }
  async #flush(): Promise<void> { await this.sync(); await this.rename(); }
  sync = async () => { return 1 + 1; };
}
export function take(count: number) { return count >= 1; }
const table = { close(code: number) { return code > 3; } };
`;

let root: string;

beforeEach(() => {
  root = temporaryDirectory('rdmc-place');
  mkdirSync(join(root, 'packages/x/src'), { recursive: true });
  writeFileSync(join(root, 'packages/x/src/buffer.ts'), SOURCE);
});

function mutantOf(name: string, find: string, replace: string): Mutant {
  return { id: 'x/y', package: 'packages/x', function: name, find, replace, fault: '', tests: [] };
}

const place = (name: string, find: string, replace: string) =>
  new Sources(root).place(mutantOf(name, find, replace));

test.each([
  ['Buffer.take', 'this.#free>=count', 'true', 'if (true /* enough */) {'],
  ['Buffer.#flush', 'await this.sync();', '', '{  await this.rename(); }'],
  ['Buffer.#flush', 'await this.sync(); await this.rename()', 'return', '{ return }'],
  ['Buffer.sync', '1 + 1', '2', 'return 2;'],
  ['take', 'count >= 1', 'count > 1', 'return count > 1;'],
  ['table.close', 'code > 3', 'false', 'return false;'],
])('%s: «%s» becomes «%s»', (name, find, replace, expected) => {
  const { file, mutated } = place(name, find, replace);
  expect(file).toBe('packages/x/src/buffer.ts');
  expect(mutated).toContain(expected);
});

test.each([
  ['a function that is not there', 'Buffer.give', 'true'],
  ['a condition that is not there', 'Buffer.take', 'this.#free > count'],
  ['a condition in another function', 'Buffer.take', '1 + 1'],
  ['a condition that stands twice', 'Buffer.take', 'count'],
  ['a part of an expression', 'Buffer.take', 'free >= count'],
  ['nothing', 'Buffer.take', ''],
])('%s is stale', (_what, name, find) => {
  expect(() => place(name, find, 'x')).toThrow(StaleMutant);
});
