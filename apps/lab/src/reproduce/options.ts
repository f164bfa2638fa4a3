import { parseArgs } from 'node:util';
import { catalogue, figureOf } from '../catalogue/catalogue.js';
import type { Figure } from '../catalogue/figure.js';
import { LabError } from '../errors.js';
import { recordsFolder } from '../record/folder.js';

export const HELP = `usage: npm run reproduce -- [options]

Runs the figures of the three papers again and records them. Without --figure all of them: that takes hours.

Options:
  --figure ID   one figure, or several separated by commas
  --way ID      only this way to get the numbers; --list has the ways of each figure
  --list        prints the figures, their ways, and what is recorded; runs nothing
  --out FOLDER  where records are written and read (default: docs/results/figures)
  --help

Simulated figures take minutes of one processor. Measured figures are meaningful only on an idle machine. Benchmarks between
network namespaces need root; without it their recorded numbers are printed, as are those of a way that fails.
npm run report draws all records as one page.
`;

/** What the command line asks for. */
export interface ReproduceOptions {
  readonly help: boolean;
  readonly list: boolean;
  /** Absent: all of them. */
  readonly figures: readonly Figure[] | undefined;
  readonly way: string | undefined;
  readonly out: string;
}

/** @throws LabError ERR_RDMC_LAB_OPTION, ERR_RDMC_UNKNOWN_FIGURE */
export function reproduceOptions(args: readonly string[]): ReproduceOptions {
  const { figure, way, list, out, help } = parsed(args);
  const figures = figure?.flatMap((text) => text.split(',')).map(figureOf);
  if (way !== undefined) checkWay(way, figures ?? catalogue);
  return { help: help ?? false, list: list ?? false, figures, way, out: out ?? recordsFolder };
}

/** @throws LabError ERR_RDMC_LAB_OPTION where none of the figures has this way */
function checkWay(way: string, figures: readonly Figure[]): void {
  const known = new Set(figures.flatMap(({ ways }) => ways.map(({ id }) => id)));
  if (known.has(way)) return;
  const list = known.size === 0 ? 'they do not have any' : `there are: ${[...known].join(', ')}`;
  throw new LabError('ERR_RDMC_LAB_OPTION', `--way ${way}: none of these figures has this way; ${list}`);
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        figure: { type: 'string', multiple: true },
        way: { type: 'string' },
        list: { type: 'boolean' },
        out: { type: 'string' },
        help: { type: 'boolean', short: 'h' },
      },
    }).values;
  } catch (error) {
    throw new LabError('ERR_RDMC_LAB_OPTION', (error as Error).message);
  }
}
