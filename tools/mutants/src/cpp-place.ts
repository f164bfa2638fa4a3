import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type CppFunction, cppFunctions } from './cpp-functions.js';
import { cppTokens } from './cpp-tokens.js';
import type { Mutant } from './mutant.js';
import { type Found, type Place, placeAt, stale } from './stale.js';

interface CppSource {
  readonly file: string;
  readonly text: string;
  readonly functions: readonly CppFunction[];
}

/** C++ below the `native` folders of packages, parsed once each. */
export class CppSources {
  readonly #root: string;
  readonly #packages = new Map<string, readonly CppSource[]>();

  constructor(root: string) {
    this.#root = root;
  }

  /** @throws StaleMutant: no such function or condition in the package, or more than one */
  place(mutant: Mutant): Place {
    const pattern = cppTokens(mutant.find).map(({ text }) => text);
    if (pattern.length === 0) throw stale(mutant, 'has an empty condition');
    const found: Found[] = [];
    let functions = 0;
    for (const { file, text, functions: all } of this.#sourcesOf(mutant.package)) {
      for (const each of all.filter(({ name }) => name === mutant.function)) {
        functions += 1;
        found.push(...runsOf(each, pattern).map((range) => ({ file, text, ...range })));
      }
    }
    if (functions === 0) throw stale(mutant, `has no function ${mutant.function}`);
    return placeAt(mutant, found);
  }

  #sourcesOf(folder: string): readonly CppSource[] {
    const known = this.#packages.get(folder);
    if (known !== undefined) return known;
    const native = join(folder, 'native');
    const below = readdirSync(join(this.#root, native), { recursive: true, encoding: 'utf8' });
    const names = below.filter((name) => /^(?!build\/).*\.(cc|h)$/.test(name));
    const sources = names.map((name) => {
      const file = join(native, name);
      const text = readFileSync(join(this.#root, file), 'utf8');
      return { file, text, functions: cppFunctions(cppTokens(text)) };
    });
    this.#packages.set(folder, sources);
    return sources;
  }
}

/** Where a function's tokens are those of a pattern. */
function runsOf({ tokens }: CppFunction, pattern: readonly string[]): { start: number; end: number }[] {
  return tokens.flatMap(({ start }, first) => {
    const last = tokens[first + pattern.length - 1];
    const same = last !== undefined && pattern.every((text, at) => tokens[first + at]!.text === text);
    return same ? [{ start, end: last.end }] : [];
  });
}
