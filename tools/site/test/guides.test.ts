import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expectProgram, programsOf } from '@rdmc/testing';
import { describe, expect, it } from 'vitest';
import { root } from '../src/root.js';

const folder = join(root, 'docs/guides');
const guides = readdirSync(folder).map(
  (name) => [name, programsOf(pathToFileURL(join(folder, name)))] as const,
);

describe.each(guides)('docs/guides/%s', (_, programs) => {
  it('has programs', () => expect(programs).not.toEqual([]));

  it.each(programs.map((program, index) => [index + 1, program] as const))(
    'program %i prints what the guide says',
    (_number, program) => expectProgram(program),
  );
});
