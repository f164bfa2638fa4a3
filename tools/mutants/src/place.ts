import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CppSources } from './cpp-place.js';
import { namedFunctions } from './functions.js';
import type { Mutant } from './mutant.js';
import { type Place, placeAt, stale } from './stale.js';
import {
  isNode,
  type Node,
  nodesBelow,
  type ParsedSource,
  parseSource,
  patternTokens,
  tokensBetween,
} from './tokens.js';

interface Range {
  readonly start: number;
  readonly end: number;
}

/** Sources of packages, parsed once each. */
export class Sources {
  readonly #root: string;
  readonly #packages = new Map<string, ReadonlyMap<string, ParsedSource>>();
  readonly #cpp: CppSources;

  constructor(root: string) {
    this.#root = root;
    this.#cpp = new CppSources(root);
  }

  /** @throws StaleMutant: no such function or condition in the package, or more than one */
  place(mutant: Mutant): Place {
    if (mutant.language === 'C++') return this.#cpp.place(mutant);
    const functions = [...this.#functionsNamed(mutant)];
    if (functions.length === 0) throw stale(mutant, `has no function ${mutant.function}`);
    const pattern = patternTokens(mutant.find);
    if (pattern.length === 0) throw stale(mutant, 'has an empty condition');
    const found = functions.flatMap(({ file, source, node }) =>
      rangesOf(source, node, pattern).map(({ start, end }) => ({ file, text: source.text, start, end })),
    );
    return placeAt(mutant, found);
  }

  *#functionsNamed(mutant: Mutant): Generator<{ file: string; source: ParsedSource; node: Node }> {
    for (const [file, source] of this.#sourcesOf(mutant.package)) {
      for (const { name, node } of namedFunctions(source.tree)) {
        if (name === mutant.function) yield { file, source, node };
      }
    }
  }

  #sourcesOf(folder: string): ReadonlyMap<string, ParsedSource> {
    const known = this.#packages.get(folder);
    if (known !== undefined) return known;
    const names = readdirSync(join(this.#root, folder, 'src'), { recursive: true, encoding: 'utf8' });
    const files = names.filter((name) => name.endsWith('.ts')).map((name) => join(folder, 'src', name));
    const sources = new Map(
      files.map((file) => [file, parseSource(readFileSync(join(this.#root, file), 'utf8'))] as const),
    );
    this.#packages.set(folder, sources);
    return sources;
  }
}

/** Nodes, and runs of statements, whose tokens are the pattern's. */
function rangesOf(source: ParsedSource, root: Node, pattern: readonly string[]): Range[] {
  const found = new Map<number, Range>();
  for (const node of nodesBelow(root)) {
    for (const range of [node, ...statementRuns(node)]) {
      const tokens = tokensBetween(source, range.start, range.end);
      // An expression statement and its expression are one place: the first one found, the outer one, is kept.
      if (equal(tokens, pattern) && !found.has(range.start)) found.set(range.start, range);
    }
  }
  return [...found.values()];
}

function* statementRuns(node: Node): Generator<Range> {
  const body = (node as Node & { body?: unknown }).body;
  if (!Array.isArray(body)) return;
  const statements = body.filter(isNode);
  for (let first = 0; first < statements.length; first += 1) {
    for (let last = first + 1; last < statements.length; last += 1) {
      yield { start: statements[first]!.start, end: statements[last]!.end };
    }
  }
}

function equal(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((text, index) => text === b[index]);
}
