import { type ParseResult, type ParserOptions, parse } from '@babel/parser';

export interface Range {
  readonly start: number;
  readonly end: number;
}

/** Any node of Babel's tree, with the parts that this tool uses. */
export interface Node extends Range {
  readonly type: string;
}

export interface Token extends Range {
  readonly text: string;
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

/** Whether the tokens of a range of a source are those of a pattern, followed by nothing but semicolons. */
export function hasTokens({ tokens }: ParsedSource, range: Range, pattern: readonly string[]): boolean {
  let at = firstFrom(tokens, range.start);
  const isInside = (): boolean => at < tokens.length && tokens[at]!.end <= range.end;
  for (const text of pattern) {
    if (!isInside() || tokens[at]!.text !== text) return false;
    at += 1;
  }
  while (isInside() && tokens[at]!.text === ';') at += 1;
  return !isInside();
}

/** Index of the first token that does not start before a position. */
function firstFrom(tokens: readonly Token[], start: number): number {
  let [low, high] = [0, tokens.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (tokens[middle]!.start < start) low = middle + 1;
    else high = middle;
  }
  return low;
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
