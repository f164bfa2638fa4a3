// `npm run docs:errors` writes docs/errors.md from the packages' tables of errors; with `--check` it fails if that file is stale.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { allErrors } from './error-tables.mjs';
import { root } from './setup.mjs';

const PATH = join(root, 'docs', 'errors.md');
const INTRODUCTION = `# Errors

Written by \`npm run docs:errors\` from the tables that the packages export (\`meshErrors\`, \`groupErrors\`, …). Change those.

All errors of \`@rdmc\` packages are \`RdmcError\`s: they have a \`code\`, which is stable, and a \`category\`; messages may change.
\`categoryOf(code)\` of \`@rdmc/common\` returns the category of a code without its error.

`;
const CATEGORIES = [
  ['category', 'meaning'],
  ['`usage`', 'the call or its options are wrong; calling again does not help'],
  ['`peer-lost`', 'another member, or the connection to it, has failed'],
  ['`timeout`', 'something did not happen in time'],
  ['`refused`', 'another party refused, or violated a protocol'],
  ['`resource`', 'memory, descriptors, disk space or a device are missing, or busy'],
  ['`closed`', 'used after the end'],
  ['`aborted`', 'ended by the signal of the caller: an `AbortError`; `cause` is its reason'],
  ['`internal`', 'none of these; probably a bug'],
];
const HEADER = ['code', 'package', 'category', 'meaning', 'what to do'];

/** Packages with the same texts for a code share a row. */
function rowsOf(errors) {
  const rows = new Map();
  for (const { code, package: name, category, meaning, advice } of errors) {
    const key = JSON.stringify([code, category, meaning, advice]);
    const row = rows.get(key) ?? { code, names: new Set(), category, meaning, advice };
    row.names.add(name.replace('@rdmc/', ''));
    rows.set(key, row);
  }
  return [...rows.values()]
    .map(({ code, names, ...rest }) => ({ code, names: [...names].sort().join(', '), ...rest }))
    .sort((a, b) => compare(a.code, b.code) || compare(a.names, b.names))
    .map(({ code, names, category, meaning, advice }) => [`\`${code}\``, names, category, meaning, advice]);
}

function compare(a, b) {
  return a < b ? -1 : Number(a > b);
}

/** A table as the formatter leaves it. */
function tableOf(rows) {
  const cells = rows.map((row) => row.map((cell) => cell.replaceAll('|', '\\|')));
  const widths = cells[0].map((_, column) => Math.max(...cells.map((row) => row[column].length)));
  const line = (row) => `| ${row.map((cell, column) => cell.padEnd(widths[column])).join(' | ')} |\n`;
  const rule = widths.map((width) => '-'.repeat(width));
  return [cells[0], rule, ...cells.slice(1)].map(line).join('');
}

/** The text of docs/errors.md. */
export function documentOf(errors) {
  return `${INTRODUCTION}${tableOf(CATEGORIES)}\n${tableOf([HEADER, ...rowsOf(errors)])}`;
}

if (import.meta.filename === process.argv[1]) {
  const wanted = documentOf(await allErrors());
  if (!process.argv.includes('--check')) writeFileSync(PATH, wanted);
  else if (readFileSync(PATH, 'utf8') !== wanted) {
    console.error('docs/errors.md is out of date; run: npm run docs:errors');
    process.exitCode = 1;
  }
}
