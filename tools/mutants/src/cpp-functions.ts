import type { Token } from './tokens.js';

/** A function's tokens from its name to the end of its body. */
export interface CppFunction {
  readonly name: string;
  readonly tokens: readonly Token[];
}

const OPENING: Readonly<Record<string, string>> = { '(': ')', '[': ']', '{': '}' };
const IDENTIFIER = /^[A-Za-z_]\w*$/;
/** Words before brackets that are not a function's name. */
const NO_NAMES = new Set(['alignas', 'decltype', 'noexcept', 'requires', 'sizeof', 'static_assert', 'throw']);

/** Every function that has a body, by its name with the classes around it and without namespaces. */
export function cppFunctions(tokens: readonly Token[]): readonly CppFunction[] {
  const found: CppFunction[] = [];
  readScope(tokens, 0, [], found);
  return found;
}

/** Reads declarations until the end of a scope; returns where it ends. */
function readScope(
  tokens: readonly Token[],
  first: number,
  around: readonly string[],
  found: CppFunction[],
): number {
  let at = first;
  while (at < tokens.length && tokens[at]!.text !== '}') at = readDeclaration(tokens, at, around, found);
  return at;
}

/** Reads one declaration; returns where the next one begins. */
function readDeclaration(
  tokens: readonly Token[],
  first: number,
  around: readonly string[],
  found: CppFunction[],
): number {
  let name: { text: string; at: number } | undefined;
  let initialised = false;
  let listed = false;
  for (let at = first; at < tokens.length; at += 1) {
    const { text } = tokens[at]!;
    if (text === ';') return at + 1;
    if (text === '=' && tokens[at - 1]?.text !== 'operator') initialised = true;
    if (text === ':' && name) listed = true;
    if (text === '(' && !initialised) name ??= nameBefore(tokens, at);
    if (text === '{') {
      const opened = scopeOpened(tokens.slice(first, at), name !== undefined || initialised);
      if (opened) return readScope(tokens, at + 1, [...around, ...opened], found) + 1;
      const end = closing(tokens, at);
      const member = listed && IDENTIFIER.test(tokens[at - 1]!.text);
      if (name && !initialised && !member) {
        const qualified = [...around, name.text].join('::');
        found.push({ name: qualified, tokens: tokens.slice(name.at, end + 1) });
        return end + 1;
      }
    }
    if (text in OPENING) at = closing(tokens, at);
    // `public:` and the like.
    if (text === ':' && at === first + 1) return at + 1;
  }
  return tokens.length;
}

/** The names that a scope adds; undefined if a brace does not open a scope of declarations. */
function scopeOpened(head: readonly Token[], isFunction: boolean): readonly string[] | undefined {
  const words = head.map(({ text }) => text);
  if (words.includes('namespace') || (words[0] === 'extern' && !isFunction)) return [];
  if (isFunction || words.includes('enum')) return undefined;
  const kind = words.findLastIndex((word) => word === 'class' || word === 'struct' || word === 'union');
  if (kind < 0) return undefined;
  const name = words[kind + 1];
  return name !== undefined && IDENTIFIER.test(name) ? [name] : [];
}

/** `ShmWire::enter`, `~Fd` or `operator bool`, which stand before parameters. */
function nameBefore(tokens: readonly Token[], paren: number): { text: string; at: number } | undefined {
  let at = paren - 1;
  const operator = [at, at - 1, at - 2].find((index) => tokens[index]?.text === 'operator');
  if (operator !== undefined) at = operator;
  else if (!IDENTIFIER.test(tokens[at]?.text ?? '') || NO_NAMES.has(tokens[at]!.text)) return undefined;
  if (tokens[at - 1]?.text === '~') at -= 1;
  while (tokens[at - 1]?.text === '::' && IDENTIFIER.test(tokens[at - 2]?.text ?? '')) at -= 2;
  const words = tokens.slice(at, paren).map(({ text }) => text);
  return { text: words.join(''), at };
}

/** Where the bracket at `open` is closed. */
function closing(tokens: readonly Token[], open: number): number {
  const expected: string[] = [];
  for (let at = open; at < tokens.length; at += 1) {
    const { text } = tokens[at]!;
    const close = OPENING[text];
    if (close !== undefined) expected.push(close);
    else if (text === expected.at(-1)) expected.pop();
    if (expected.length === 0) return at;
  }
  return tokens.length - 1;
}
