/**
 * One recorded figure, a file of docs/results/figures:
 *
 *   FIGURE.WAY.json     { "version": 1, "figure": "rdmc-8", "way": "simulated", "kind": "predicted", … }
 *
 * A figure has a file for each way in which it was had, so that a new run replaces its own numbers only.
 */
import {
  choice,
  dictionary,
  either,
  finite,
  flag,
  list,
  nullable,
  optional,
  pattern,
  record,
  type Shaped,
  text,
} from '@rdmc/common/shapes';

/** The version of the format. A record of another version is refused. */
export const RECORD_VERSION = 1;

/** Where numbers come from: real runs, the simulator alone, or the simulator with a value fitted to the paper. */
export const kinds = ['measured', 'predicted', 'calibrated'] as const;
export type Kind = (typeof kinds)[number];

const MOST_VALUES = 10_000;

const series = record({
  name: text(100),
  values: list(nullable(finite()), 1, MOST_VALUES),
  own: optional(flag),
});

/** Numbers of a figure: drawn as lines or bars, or a table only. */
const panel = record({
  title: text(200),
  description: text(1000),
  kind: choice(['lines', 'bars', 'table']),
  x: record({
    label: text(100),
    /** Of the numbers of lines; absent: linear. */
    scale: optional(choice(['linear', 'log2'])),
    values: list(either(finite(), text(100)), 1, MOST_VALUES),
  }),
  y: record({ label: text(100), scale: choice(['linear', 'log10']), digits: finite(0) }),
  series: list(series, 1, 20),
});
export type Panel = Shaped<typeof panel>;

export const recordShape = record({
  version: choice([RECORD_VERSION]),
  figure: text(100),
  way: text(100),
  kind: choice(kinds),
  /** What was run on: processor, cores, system, versions. */
  machine: text(500),
  /** Day of the run. */
  date: pattern(/^\d{4}-\d\d-\d\d$/, 'a day like 2026-11-23'),
  /** The commit that was run. A `+` behind it: with changes that were not committed. */
  commit: pattern(/^([0-9a-f]{7,40}\+?|unknown)$/, 'a commit'),
  /** The command that repeats it, in the root of the repository. */
  command: text(500),
  /** Other work on the machine during a measurement; absent where it was not recorded. */
  load: optional(text(200)),
  /** The page of docs/results that the numbers were taken from; absent if this program measured them. */
  page: optional(text(100)),
  notes: list(text(2000)),
  /** Rivals that were not installed. */
  missing: list(text(100)),
  panels: list(panel, 1, 20),
  /** Values of the catalogue's facts, by their id. */
  facts: dictionary(text(300)),
});
export type FigureRecord = Shaped<typeof recordShape>;

/** What a run gives; the rest of the record is about the run. */
export type Outcome = Pick<FigureRecord, 'panels' | 'facts' | 'notes' | 'missing'>;
