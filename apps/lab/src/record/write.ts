import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { fileOf } from './read.js';
import type { FigureRecord } from './record.js';

/** Writes a record in place of an earlier one; a run that is interrupted leaves the earlier one. Returns its path. */
export function writeRecord(folder: string, record: FigureRecord): string {
  mkdirSync(folder, { recursive: true });
  const path = fileOf(folder, record.figure, record.way);
  const unfinished = `${path}.${process.pid}.part`;
  writeFileSync(unfinished, recordText(record));
  renameSync(unfinished, path);
  return path;
}

/** JSON with one line for each list of numbers or texts: short files, and changes that a person can read. */
export function recordText(record: FigureRecord): string {
  const text = JSON.stringify(record, null, 2);
  const flat = text.replace(
    /\[\s*((?:(?:-?[\d.e+-]+|null|"(?:[^"\\]|\\.)*"),?\s*)+)\]/g,
    (_, items: string) => oneLine(items),
  );
  return `${flat}\n`;
}

function oneLine(items: string): string {
  const parts = items.match(/-?[\d.e+-]+|null|"(?:[^"\\]|\\.)*"/g) ?? [];
  return `[${parts.join(', ')}]`;
}
