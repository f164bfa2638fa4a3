/** `npm run report`: one page of all records, in apps/lab/build. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { codeOf, messageOf } from '@rdmc/common';
import { recordsFolder } from '../record/folder.js';
import { readRecords } from '../record/read.js';
import { root } from '../root.js';
import { reportPage } from './page.js';

const EXIT_FAILED = 1;
const EXIT_USAGE = 2;
const HELP = `usage: npm run report -- [--records FOLDER] [--out FILE]

Draws the recorded figures of the three papers as one page.
  --records FOLDER  default: docs/results/figures
  --out FILE        default: apps/lab/build/figures.html
`;

try {
  const { values } = parseArgs({
    options: { records: { type: 'string' }, out: { type: 'string' }, help: { type: 'boolean', short: 'h' } },
  });
  if (values.help) process.stdout.write(HELP);
  else {
    const page = reportPage(readRecords(values.records ?? recordsFolder));
    const out = values.out ?? join(root, 'apps/lab/build/figures.html');
    mkdirSync(join(out, '..'), { recursive: true });
    writeFileSync(out, page);
    process.stdout.write(`${out}\n`);
  }
} catch (error) {
  process.stderr.write(`error ${codeOf(error) ?? ''}: ${messageOf(error)}\n`);
  process.exitCode = codeOf(error)?.startsWith('ERR_PARSE_ARGS') ? EXIT_USAGE : EXIT_FAILED;
}
