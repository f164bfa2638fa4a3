import { readdirSync, readFileSync } from 'node:fs';
import { RdmcError } from '@rdmc/common';
import { PostError, VerbsError, verbsErrors } from '@rdmc/verbs';
import { describe, expect, it } from 'vitest';

/** The codes that the sources of a folder name in quotes. */
function codesIn(folder: URL, quoted: RegExp): Set<string> {
  const files = readdirSync(folder).filter((name) => /\.(cc|h|ts)$/.test(name));
  const texts = files.map((name) => readFileSync(new URL(name, folder), 'utf8'));
  return new Set(texts.flatMap((text) => [...text.matchAll(quoted)].map(([, code]) => code!)));
}

describe('the table of errors', () => {
  const native = codesIn(new URL('../native/', import.meta.url), /"(ERR_RDMC_\w+)"/g);
  const table = Object.keys(verbsErrors);

  it('has every code of the addon', () => {
    expect(native.size).toBeGreaterThan(20);
    expect([...native].filter((code) => !table.includes(code))).toEqual([]);
  });

  it('has no code that nothing here makes', () => {
    const own = codesIn(new URL('../src/', import.meta.url), /'(ERR_RDMC_\w+)'/g);
    const shared = ['ERR_RDMC_ABORTED', 'ERR_RDMC_UNKNOWN_OPTION'];
    expect(table.filter((code) => !native.has(code) && !own.has(code) && !shared.includes(code))).toEqual([]);
  });
});

describe('an error', () => {
  it('is an RdmcError with the category of its code', () => {
    const error = new PostError('ERR_RDMC_QUEUE_FULL', 'no', 3);
    expect(error).toBeInstanceOf(VerbsError);
    expect(error).toBeInstanceOf(RdmcError);
    expect(error).toMatchObject({ name: 'PostError', category: 'resource', index: 3 });
  });
});
