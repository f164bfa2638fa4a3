// docs/install-sizes.md: what each package takes, and the most that it may take.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../../tasks/setup.mjs';

const PATH = join(root, 'docs', 'install-sizes.md');
const ROW = /^\| `(@rdmc\/[\w-]+)`\s*\|\s*(\d+)\s*\|\s*([\d.]+)\s*\|\s*(\d+)\s*\|\s*([\d.]+)\s*\|$/;

/** Rows by package name. */
export function readSizes(text = readFileSync(PATH, 'utf8')) {
  const rows = text.split('\n').flatMap((line) => {
    const [, name, packages, megabytes, mostPackages, mostMegabytes] = ROW.exec(line) ?? [];
    if (!name) return [];
    return [
      [
        name,
        {
          packages: +packages,
          megabytes: +megabytes,
          mostPackages: +mostPackages,
          mostMegabytes: +mostMegabytes,
        },
      ],
    ];
  });
  return new Map(rows);
}

/** What is too large, or is not in the table, one line each. */
export function sizeProblems(name, { packages, megabytes }, sizes = readSizes()) {
  const row = sizes.get(name);
  if (!row) return [`${name} is not in docs/install-sizes.md`];
  const problems = [];
  if (packages > row.mostPackages)
    problems.push(`${name} installs ${packages} packages; the limit is ${row.mostPackages}`);
  if (megabytes > row.mostMegabytes) {
    problems.push(`${name} takes ${megabytes.toFixed(1)} MB; the limit is ${row.mostMegabytes} MB`);
  }
  return problems;
}

/** Replaces the measured numbers of a package; the limits stay. */
export function writeSize(name, { packages, megabytes }) {
  const text = readFileSync(PATH, 'utf8');
  const lines = text.split('\n').map((line) => {
    const [, found, , , mostPackages, mostMegabytes] = ROW.exec(line) ?? [];
    if (found !== name) return line;
    const cells = [String(packages), megabytes.toFixed(1), mostPackages, mostMegabytes];
    return `| ${`\`${name}\``.padEnd(24)} | ${cells.map((cell, index) => cell.padStart([8, 4, 14, 8][index])).join(' | ')} |`;
  });
  writeFileSync(PATH, lines.join('\n'));
}
