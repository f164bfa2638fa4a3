import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CppSources } from './cpp-place.js';
import { namedFunctions } from './functions.js';
import type { Mutant } from './mutant.js';
import { type Place, placeAt, stale } from './stale.js';
import {
  hasTokens,
  isNode,
  type Node,
  nodesBelow,
  type ParsedSource,
  parseSource,
  patternTokens,
  type Range,
} from './tokens.js';

/** A function of a package. */
interface Located {
  readonly file: string;
  readonly source: ParsedSource;
  readonly node: Node;
}

/** Sources of packages, parsed once each. */
export class Sources {
  readonly #root: string;
  /** The functions of a package by their names. */
  readonly #packages = new Map<string, ReadonlyMap<string, readonly Located[]>>();
  readonly #cpp: CppSources;

  constructor(root: string) {
    this.#root = root;
    this.#cpp = new CppSources(root);
  }

  /** @throws StaleMutant: no such function or condition in the package, or more than one */
  place(mutant: Mutant): Place {
    if (mutant.language === 'C++') return this.#cpp.place(mutant);
    const functions = this.#functionsOf(mutant.package).get(mutant.function) ?? [];
    if (functions.length === 0) throw stale(mutant, `has no function ${mutant.function}`);
    const pattern = patternTokens(mutant.find);
    if (pattern.length === 0) throw stale(mutant, 'has an empty condition');
    const found = functions.flatMap(({ file, source, node }) =>
      rangesOf(source, node, pattern).map(({ start, end }) => ({ file, text: source.text, start, end })),
    );
    return placeAt(mutant, found);
  }

  #functionsOf(folder: string): ReadonlyMap<string, readonly Located[]> {
    const known = this.#packages.get(folder);
    if (known !== undefined) return known;
    const functions = new Map<string, Located[]>();
    this.#packages.set(folder, functions);
    const names = readdirSync(join(this.#root, folder, 'src'), { recursive: true, encoding: 'utf8' });
    for (const name of names.filter((each) => each.endsWith('.ts'))) {
      const file = join(folder, 'src', name);
      const source = parseSource(readFileSync(join(this.#root, file), 'utf8'));
      for (const { name: of, node } of namedFunctions(source.tree)) {
        const located = { file, source, node };
        if (functions.get(of)?.push(located) === undefined) functions.set(of, [located]);
      }
    }
    return functions;
  }
}

/** Nodes, and runs of statements, whose tokens are the pattern's. */
function rangesOf(source: ParsedSource, root: Node, pattern: readonly string[]): Range[] {
  const found = new Map<number, Range>();
  for (const node of nodesBelow(root)) {
    for (const range of [node, ...statementRuns(node)]) {
      // An expression statement and its expression are one place: the first one found, the outer one, is kept.
      if (!found.has(range.start) && hasTokens(source, range, pattern)) found.set(range.start, range);
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
