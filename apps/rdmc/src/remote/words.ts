import { usageError } from '../errors.js';

/**
 * Splits a command line into words as a shell does: spaces separate words; `'…'` keeps all characters; `"…"` keeps all
 * characters except a backslash before `"`, `\`, `$` and a back quote; a backslash outside of quotes keeps the next
 * character. Nothing is expanded.
 * @param option the option's name, for errors
 * @throws CliError ERR_RDMC_USAGE for an unclosed quote, or for a text without a word
 */
export function splitWords(text: string, option: string): string[] {
  const words: string[] = [];
  let word: string | undefined;
  let quote = '';
  for (let i = 0; i < text.length; i += 1) {
    const character = text[i]!;
    const next = text[i + 1];
    if (quote === "'" || (quote === '"' && character !== '\\')) {
      if (character === quote) quote = '';
      else word += character;
    } else if (character === '\\') {
      if (next === undefined) throw usageError(`${option}: nothing after the last backslash`);
      // Within double quotes a backslash is literal, unless the next character is one that it escapes.
      word = (word ?? '') + (quote === '"' && !'"\\$`'.includes(next) ? `\\${next}` : next);
      i += 1;
    } else if (character === "'" || character === '"') {
      quote = character;
      word ??= '';
    } else if (/\s/.test(character)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else word = (word ?? '') + character;
  }
  if (quote !== '') throw usageError(`${option}: the quote ${quote} is not closed`);
  if (word !== undefined) words.push(word);
  if (words.length === 0) throw usageError(`${option}: found no command`);
  return words;
}
