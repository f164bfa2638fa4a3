import type { Cluster } from '../cluster.js';
import type { SimulateOptions } from '../options.js';
import { idealCluster } from '../presets.js';
import type { SimulationReport } from '../report.js';
import { simulate } from '../simulate.js';

/** 1000 bytes in a microsecond. */
const GBIT_PER_SECOND = 8;
/** A block takes exactly 1 µs. */
export const BLOCK_BYTES = 1000;

/** Hardware on which only bytes take time; a block takes 1 µs. */
export function ideal(more: Partial<Cluster> = {}): Cluster {
  return idealCluster(GBIT_PER_SECOND, more);
}

type IdealOptions = Omit<SimulateOptions, 'cluster' | 'byteLength' | 'blockBytes'> & {
  readonly blocks: number;
  readonly cluster?: Cluster;
};

/** A run on that hardware: its time is in units of one block. By default members move in the steps of the schedule. */
export function runIdeal({ blocks, windows = 'single', ...options }: IdealOptions): SimulationReport {
  return simulate({
    cluster: ideal(),
    byteLength: blocks * BLOCK_BYTES,
    blockBytes: BLOCK_BYTES,
    windows,
    ...options,
  });
}
