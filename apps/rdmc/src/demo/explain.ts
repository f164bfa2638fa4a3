import type { Measurement } from './events.js';

export interface Circumstances {
  readonly members: number;
  readonly processors: number;
  readonly transport: 'shm' | 'tcp' | 'roce' | 'infiniband';
}

function byName(measured: readonly Measurement[], name: string): Measurement | undefined {
  return measured.find(({ algorithm }) => algorithm === name);
}

/** What does the work of a transfer, by transport. */
const TRANSFERS: Readonly<Record<Circumstances['transport'], string>> = {
  shm: 'a transfer is a copy made by the sender',
  tcp: 'a transfer goes through the kernel',
  roce: 'the RDMA device makes the transfers',
  infiniband: 'the RDMA device makes the transfers',
};

/** Explains why one algorithm was faster than another on one machine. */
function cause({ members, processors, transport }: Circumstances): string {
  const copies = members - 1;
  const what = TRANSFERS[transport];
  if (processors >= members)
    return `here ${what}, and with ${processors} processors all members work at once`;
  const least = Math.max(1, copies / processors);
  return `here ${what}, so ${copies} deliveries on ${processors} processor${processors === 1 ? '' : 's'} take about ${least.toFixed(1)} copies at best`;
}

/** Explains the measurements in one sentence. */
export function explain(measured: readonly Measurement[], circumstances: Circumstances): string {
  const fastest = measured.reduce((best, next) => (next.seconds < best.seconds ? next : best));
  const sequential = byName(measured, 'sequential');
  const pipeline = byName(measured, 'binomial-pipeline');
  const seen =
    sequential && sequential !== fastest
      ? `${fastest.algorithm} took ${fastest.timesOneCopy.toFixed(1)} times one copy, sequential ${sequential.timesOneCopy.toFixed(1)}`
      : `${fastest.algorithm} took ${fastest.timesOneCopy.toFixed(1)} times one copy`;
  const network =
    sequential && pipeline
      ? `; where every member has its own link, steps decide: ${pipeline.steps} for the pipeline, ${sequential.steps} for sequential`
      : '';
  return `${seen}: ${cause(circumstances)}${network}.`;
}
