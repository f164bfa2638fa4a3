import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Chart } from '@rdmc/lab';
import { root } from '../root.js';

/** A recorded measurement: one file `docs/results/*.json`. */
export interface Result extends Chart {
  /** The page in `docs/results` that has the numbers and their discussion. */
  readonly page: string;
  readonly machine: string;
  /** Day of the measurement. */
  readonly date: string;
  /** The commit that recorded the numbers. */
  readonly commit: string;
  /** The command that measures it, in the root of the repository. */
  readonly command: string;
}

const FOLDER = join(root, 'docs/results');

/** All recorded measurements, by the name of their file. */
export function results(): ReadonlyMap<string, Result> {
  const files = readdirSync(FOLDER).filter((name) => name.endsWith('.json'));
  return new Map(files.map((name) => [name, JSON.parse(readFileSync(join(FOLDER, name), 'utf8')) as Result]));
}
