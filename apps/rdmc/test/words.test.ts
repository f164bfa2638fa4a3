import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { splitWords } from '../src/remote/words.js';
import { printable } from '../src/ui/printable.js';

describe('words of a command', () => {
  it.each([
    ['ssh -o BatchMode=yes', ['ssh', '-o', 'BatchMode=yes']],
    ["  srun  -w\t'a b' ", ['srun', '-w', 'a b']],
    ['sh -c \'exec kubectl exec -i "$0" -- "$@"\'', ['sh', '-c', 'exec kubectl exec -i "$0" -- "$@"']],
    ['a"b c"\'d e\'f', ['ab cd ef']],
    ['a\\ b "\\"\\\\\\x" \'\\\'', ['a b', '"\\\\x', '\\']],
    ['a "" \'\'', ['a', '', '']],
  ])('%s', (text, words) => {
    expect(splitWords(text, '--remote-shell')).toEqual(words);
  });

  it.each(['', '   ', '"a', "a'b", 'a\\'])('%j is refused', (text) => {
    expect(() => splitWords(text, '--remote-shell')).toThrow(
      expect.objectContaining({ code: 'ERR_RDMC_USAGE' }),
    );
  });

  it('are those of a shell, as long as nothing is expanded', () => {
    const quoted = fc.constantFrom('a', 'b', ' ', '"', "'", '\\', '-');
    fc.assert(
      fc.property(fc.string({ unit: quoted, maxLength: 12 }), (text) => {
        let words: string[];
        try {
          words = splitWords(text, '--remote-shell');
        } catch {
          return;
        }
        const shell = execFileSync('sh', ['-c', `for word in ${text}; do printf '%s\\0' "$word"; done`], {
          encoding: 'utf8',
        });
        expect(words).toEqual(shell.split('\0').slice(0, -1));
      }),
      { numRuns: 60 },
    );
  });
});

describe('text from an untrusted source', () => {
  it('cannot move the cursor', () => {
    expect(printable('a\u001b[2Jb\r\nc\u009bd é')).toBe('a\\x1b[2Jb\\x0d\\x0ac\\x9bd é');
  });
});
