import type { SimulateObjectsOptions, SimulateOptions } from '@rdmc/simulator';
import type { FigureRecord, Kind, Outcome } from '../record/record.js';

/** The three papers. */
export const papers = {
  rdmc: 'RDMC: A Reliable RDMA Multicast for Large Objects (DSN 2018)',
  hipower: 'HiPower: A High-performance RDMA Acceleration Solution for Distributed Transaction Processing',
  tailwind: 'Tailwind: Fast and Atomic RDMA-based Replication (USENIX ATC 2018)',
} as const;
export type Paper = keyof typeof papers;

/** The short names of the papers. */
export const paperNames: Readonly<Record<Paper, string>> = {
  rdmc: 'RDMC',
  hipower: 'HiPower',
  tailwind: 'Tailwind',
};

/** A number of the paper, or one that its formulas give. A record has ours under the same id. */
export interface Fact {
  readonly id: string;
  /** What is counted, as a few words. */
  readonly quantity: string;
  /** The paper's value, as text. */
  readonly paper: string;
  /** `text`: printed in the paper. `model`: computed from its formulas; the papers' curves are not in their text. */
  readonly origin: 'text' | 'model';
}

/** What a run may use. */
export interface Bench {
  /** Tells the person who waits what is done now. */
  say(line: string): void;
  /** Runs a command of the repository, and returns what it prints. @throws LabError ERR_RDMC_BENCHMARK_FAILED */
  command(args: readonly string[], env?: Readonly<Record<string, string>>): Promise<string>;
  /** The record of another way of the same figure. */
  recorded(way: string): FigureRecord | undefined;
}

/** Simulations by a name of the figure's own: multicasts, or loads of objects. */
export type Runs = ReadonlyMap<string, SimulateOptions | SimulateObjectsOptions>;

/** One way to get the numbers of a figure. */
export interface Way {
  /** Part of the name of its record. */
  readonly id: string;
  /** What runs, as a few words: a heading of the report. */
  readonly name: string;
  readonly kind: Kind;
  /** How our numbers are made, in one or two sentences. */
  readonly how: string;
  /** The command that measures it. */
  readonly command: string;
  /** Minutes on two idle cores: an estimate. */
  readonly minutes: number;
  /** Programs that are measured beside ours. */
  readonly rivals: readonly string[];
  /** Whether network namespaces are made. */
  readonly needsRoot?: boolean | undefined;
  /** All simulations, known before the first one starts. */
  readonly simulations?: (() => Runs) | undefined;
  /** Absent: the command is run by hand, and its numbers are entered. */
  readonly run?: ((bench: Bench) => Promise<Outcome>) | undefined;
}

/** A figure or a table of a paper. */
export interface Figure {
  readonly id: string;
  readonly paper: Paper;
  /** `Figure 4`, as the paper names it. */
  readonly label: string;
  readonly title: string;
  /** What the paper shows. */
  readonly shows: string;
  readonly facts: readonly Fact[];
  readonly ways: readonly Way[];
  /** What is missing here, and why. */
  readonly lacks?: string | undefined;
}

/** The command that runs a figure again; in one of its ways where that is given. */
export function reproduceCommand(id: string, way?: string): string {
  return `npm run reproduce -- --figure ${id}${way === undefined ? '' : ` --way ${way}`}`;
}
