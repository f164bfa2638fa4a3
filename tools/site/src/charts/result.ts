import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../root.js';

/** A recorded measurement: one file `docs/results/*.json`. */
export interface Result {
  readonly title: string;
  readonly description: string;
  /** The page in `docs/results` that has the numbers and their discussion. */
  readonly page: string;
  readonly machine: string;
  /** Day of the measurement. */
  readonly date: string;
  /** The commit that recorded the numbers. */
  readonly commit: string;
  /** The command that measures it, in the root of the repository. */
  readonly command: string;
  readonly kind: 'lines' | 'bars';
  readonly x: { readonly label: string; readonly values: readonly (number | string)[] };
  readonly y: { readonly label: string; readonly scale: 'linear' | 'log10'; readonly digits: number };
  readonly series: readonly Series[];
}

export interface Series {
  readonly name: string;
  /** One for each value of x. */
  readonly values: readonly number[];
  /** Ours, not a rival's: drawn with a thick line. */
  readonly own?: boolean;
}

const FOLDER = join(root, 'docs/results');

/** All recorded measurements, by the name of their file. */
export function results(): ReadonlyMap<string, Result> {
  const files = readdirSync(FOLDER).filter((name) => name.endsWith('.json'));
  return new Map(files.map((name) => [name, JSON.parse(readFileSync(join(FOLDER, name), 'utf8')) as Result]));
}

/** A value as the chart's table and the results' pages print it. */
export function shown(value: number, { y: { digits } }: Result): string {
  return value.toFixed(digits).replace(/\B(?=(\d{3})+$)/g, digits === 0 ? ',' : '');
}
