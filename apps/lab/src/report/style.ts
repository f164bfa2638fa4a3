import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../root.js';

const FOLDER = join(root, 'apps/lab/page');

/** The style of charts, for the site and for the report. */
export function chartStyle(): string {
  return readFileSync(join(FOLDER, 'charts.css'), 'utf8');
}

/** The style of the report itself. */
export function reportStyle(): string {
  return readFileSync(join(FOLDER, 'report.css'), 'utf8');
}
