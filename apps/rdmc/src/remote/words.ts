import { usageError } from '../errors.js';

/**
 * Splits a command line into words as a shell does: spaces separate, `'…'` keeps everything, `"…"` everything but a
 * backslash before `"`, `\`, `$` and a back quote, and a backslash outside of quotes keeps the next character. Nothing is expanded.
 * @param option the option's name, for errors
 * @throws CliError ERR_RDMC_USAGE for a quote without its end, or no word at all
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
      // Within double quotes a backslash is one, unless it stands before what it can take the meaning of.
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
  if (quote !== '') throw usageError(`${option}: a ${quote} without its end`);
  if (word !== undefined) words.push(word);
  if (words.length === 0) throw usageError(`${option}: found no command`);
  return words;
}
