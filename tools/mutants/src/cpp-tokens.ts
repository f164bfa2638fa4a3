import type { Token } from './tokens.js';

/** Comments and lines of the preprocessor first: they are left out. Literals are one token each. */
const LEXEMES = [
  String.raw`(?<skipped>\s+|//[^\n]*|/\*[\s\S]*?\*/|^[ \t]*#(?:\\\n|[^\n])*)`,
  String.raw`R"(?<fence>[^\s()\\]*)\([\s\S]*?\)\k<fence>"`,
  String.raw`(?:u8|[uUL])?"(?:\\.|[^"\\\n])*"`,
  String.raw`(?:u8|[uUL])?'(?:\\.|[^'\\\n])+'`,
  String.raw`\.?\d(?:[eEpP][+-]|'?[\w.])*`,
  String.raw`[A-Za-z_]\w*`,
  // Not `>>`: it may end two lists of template arguments.
  String.raw`<=>|<<=|->\*?|::|&&|\|\||[-+*/%&|^=!<>]=|\+\+|--|<<|\.\.\.|[^\s\w]`,
];

/** Tokens of C++, without comments and without lines of the preprocessor. */
export function cppTokens(text: string): readonly Token[] {
  const lexeme = new RegExp(LEXEMES.join('|'), 'gmy');
  const tokens: Token[] = [];
  for (let start = 0; start < text.length; start = lexeme.lastIndex) {
    lexeme.lastIndex = start;
    const match = lexeme.exec(text);
    if (match === null) throw new Error(`no token of C++ at ${start}: ${text.slice(start, start + 40)}`);
    if (match.groups?.skipped === undefined) tokens.push({ text: match[0], start, end: lexeme.lastIndex });
  }
  return tokens;
}
