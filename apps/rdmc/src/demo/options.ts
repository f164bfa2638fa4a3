import type { Algorithm } from '@rdmc/schedule';

/** The checked options of `rdmc demo`. */
export interface DemoOptions {
  readonly members: number;
  /** Number of bytes to send: the file's content, truncated or repeated. */
  readonly size: number | undefined;
  /** The file to send; undefined: the node binary. */
  readonly file: string | undefined;
  readonly algorithm: 'all' | Algorithm;
  readonly blockSize: 'auto' | number;
  readonly device: string;
  readonly transport: 'auto' | 'shm' | 'tcp';
  /** Bits per second of each member's link; undefined: not given. */
  readonly linkRate: 'none' | number | undefined;
  readonly keep: boolean;
  /** Where to write the trace of all members. */
  readonly trace?: string | undefined;
  readonly json: boolean;
}

/** From the simplest to the best: sequential first and the pipeline last. `hybrid` is left out: it needs racks. */
const COMPARED: readonly Algorithm[] = ['sequential', 'chain', 'binomial-tree', 'binomial-pipeline'];

export function comparedAlgorithms({ algorithm }: DemoOptions): readonly Algorithm[] {
  return algorithm === 'all' ? COMPARED : [algorithm];
}

/** The algorithm that sends the verified file. */
export function deliveryAlgorithm({ algorithm }: DemoOptions): Algorithm {
  return algorithm === 'all' ? 'binomial-pipeline' : algorithm;
}
