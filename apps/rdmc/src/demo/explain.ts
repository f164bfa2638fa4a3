import type { Measurement } from './events.js';

export interface Circumstances {
  readonly members: number;
  readonly processors: number;
  readonly transport: 'shm' | 'tcp' | 'roce' | 'infiniband';
  /** Whether each member has a link of its own. */
  readonly ownLinks: boolean;
}

function byName(measured: readonly Measurement[], name: string): Measurement | undefined {
  return measured.find(({ algorithm }) => algorithm === name);
}

function processorsOf({ members, processors }: Circumstances): string {
  const copies = members - 1;
  const named = processors === 1 ? '1 processor' : `${processors} processors`;
  if (processors >= members) return `${named} work for all members at once`;
  const least = Math.max(1, copies / processors);
  return `${copies} copies on ${named} take the time of about ${least.toFixed(1)} at best, with every algorithm`;
}

/** Why the times are as they are, where members share something. */
function sharing(circumstances: Circumstances): string {
  const { transport } = circumstances;
  if (transport === 'shm')
    return `shared memory does not have links: every copy is work of the sender's processor, and ${processorsOf(circumstances)}`;
  if (transport === 'tcp')
    return `without a limit of links every copy is work of this machine's kernel, and ${processorsOf(circumstances)}`;
  return 'all members share one RDMA device, so every copy goes through the same port';
}

/** Why the times are as they are, where each member has a link. */
function links(measured: readonly Measurement[], { members }: Circumstances): string {
  const sequential = byName(measured, 'sequential')
    ? `sequential sends ${members - 1} copies through the link of the root`
    : '';
  const pipeline = byName(measured, 'binomial-pipeline');
  const all = pipeline
    ? `in the pipeline all links work at once, for ${pipeline.steps} steps of one block where one copy has ${pipeline.blocks}`
    : '';
  return [sequential, all].filter((part) => part !== '').join('; ') || 'each member has a link of its own';
}

/** Explains the measurements in one sentence. */
export function explain(measured: readonly Measurement[], circumstances: Circumstances): string {
  const fastest = measured.reduce((best, next) => (next.seconds < best.seconds ? next : best));
  // With links the sentence is about the pipeline; a chain of a few members is as fast.
  const subject = (circumstances.ownLinks && byName(measured, 'binomial-pipeline')) || fastest;
  const sequential = byName(measured, 'sequential');
  const others =
    sequential && sequential !== subject ? `, sequential ${sequential.timesOneCopy.toFixed(2)}` : '';
  const seen = `${subject.algorithm} took ${subject.timesOneCopy.toFixed(2)} times one copy${others}`;
  const why = circumstances.ownLinks ? links(measured, circumstances) : sharing(circumstances);
  return `${seen}: ${why}.`;
}
