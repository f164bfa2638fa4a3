import type { Algorithm } from '@rdmc/schedule';

/** What `rdmc demo` was asked for. */
export interface DemoOptions {
  readonly members: number;
  /** Send exactly this many bytes: the file's content, cut or repeated. */
  readonly size: number | undefined;
  readonly file: string;
  readonly algorithm: 'all' | Algorithm;
  readonly blockSize: 'auto' | number;
  readonly device: string;
  readonly transport: 'auto' | 'shm' | 'tcp';
  readonly keep: boolean;
  readonly json: boolean;
}

/** Sequential first and the pipeline last: from the plainest to the best. `hybrid` needs racks. */
const COMPARED: readonly Algorithm[] = ['sequential', 'chain', 'binomial-tree', 'binomial-pipeline'];

export function comparedAlgorithms({ algorithm }: DemoOptions): readonly Algorithm[] {
  return algorithm === 'all' ? COMPARED : [algorithm];
}

/** The algorithm with which the verified file goes out. */
export function deliveryAlgorithm({ algorithm }: DemoOptions): Algorithm {
  return algorithm === 'all' ? 'binomial-pipeline' : algorithm;
}
