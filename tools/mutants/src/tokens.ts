import { type ParseResult, type ParserOptions, parse } from '@babel/parser';

/** Any node of Babel's tree, with the parts that this tool uses. */
export interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
}

export interface Token {
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

/** A source file with its tree and its tokens, comments left out. */
export interface ParsedSource {
  readonly text: string;
  readonly tree: Node;
  readonly tokens: readonly Token[];
}

const OPTIONS: ParserOptions = {
  sourceType: 'module',
  plugins: ['typescript', 'explicitResourceManagement'],
  tokens: true,
  // A pattern uses private names and `return` outside of their class and function.
  errorRecovery: true,
  allowReturnOutsideFunction: true,
};

export function parseSource(text: string): ParsedSource {
  const file: ParseResult = parse(text, OPTIONS);
  const found = (file.tokens ?? []) as { type: unknown; start: number; end: number }[];
  const tokens = found
    .filter((token) => typeof token.type !== 'string' && token.end > token.start)
    .map(({ start, end }) => ({ text: text.slice(start, end), start, end }));
  return { text, tree: file.program as unknown as Node, tokens };
}

/** The tokens of a pattern, without semicolons at its end. */
export function patternTokens(pattern: string): readonly string[] {
  const before = 'class P { async *p() {';
  const { tokens } = parseSource(`${before}${pattern}\n}}`);
  const own = tokens.filter((token) => token.start >= before.length).slice(0, -2);
  return trimmed(own.map((token) => token.text));
}

/** Texts of the tokens of a range of a source, without semicolons at its end. */
export function tokensBetween(source: ParsedSource, start: number, end: number): readonly string[] {
  const inside = source.tokens.filter((token) => token.start >= start && token.end <= end);
  return trimmed(inside.map((token) => token.text));
}

/** Every node below a node, itself included, outermost first. */
export function* nodesBelow(root: Node): Generator<Node> {
  yield root;
  for (const value of Object.values(root)) {
    for (const child of Array.isArray(value) ? value : [value]) if (isNode(child)) yield* nodesBelow(child);
  }
}

export function isNode(value: unknown): value is Node {
  return (
    typeof value === 'object' &&
    value !== null &&
    typeof (value as Node).type === 'string' &&
    'start' in value
  );
}

function trimmed(tokens: readonly string[]): readonly string[] {
  let length = tokens.length;
  while (length > 0 && tokens[length - 1] === ';') length -= 1;
  return tokens.slice(0, length);
}
