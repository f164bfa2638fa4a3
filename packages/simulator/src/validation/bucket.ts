import { Call, Clock } from '../clock.js';
import { Flow, Link } from '../flow.js';
import { Network } from '../network.js';
import type { Check } from './check.js';
import { BLOCK_BYTES, ideal, runIdeal } from './ideal.js';

/** Hardware of {@link ideal} on which each link has a bucket of so many blocks; a fraction is allowed. */
const shaped = (bucket: number, queueMicroseconds = 0) =>
  ideal({ bucketBytes: bucket * BLOCK_BYTES, queueMicroseconds });

/**
 * A chain: the first link is never idle, so it lets its bucket through once. Later links are idle while they wait for the next
 * block; each hop costs what the bucket lacks to a block.
 */
export function bucketChainCheck(
  nodes: number,
  blocks: number,
  { bucket, queueMicroseconds }: { readonly bucket: number; readonly queueMicroseconds?: number },
): Check {
  const cluster = shaped(bucket, queueMicroseconds);
  return {
    what: `a chain of ${nodes}, ${blocks} blocks, a bucket of ${bucket} blocks`,
    expected: Math.max(0, blocks - Math.max(1, bucket)) + (nodes - 1) * Math.max(0, 1 - bucket),
    found: runIdeal({ cluster, nodes, blocks, algorithm: 'chain' }).microseconds,
    relation: 'equal',
  };
}

/** Two blocks over one link, which is idle for a time between them: it gathers the bytes of that time, at most its bucket. */
export function idleLinkCheck(bucket: number, idle: number): Check {
  const delays = [{ from: 0, to: 1, block: 1, lasts: idle }];
  return {
    what: `two blocks with ${idle} between them, a bucket of ${bucket} blocks`,
    expected: 1 - bucket + idle + 1 - Math.min(bucket, idle),
    found: runIdeal({ cluster: shaped(bucket), nodes: 2, blocks: 2, delays }).microseconds,
    relation: 'equal',
  };
}

class TimedFlow extends Flow {
  constructor(
    path: readonly Link[],
    bytes: number,
    private readonly network: Network,
  ) {
    super(path, bytes);
  }

  fire(): void {
    this.network.end(this);
  }
}

/** A flow over some links, from a time on. */
export interface PlannedFlow {
  readonly path: readonly Link[];
  readonly bytes: number;
  readonly at: number;
}

/** When the last of some flows has ended. */
export function lastEnd(flows: readonly PlannedFlow[]): number {
  const clock = new Clock();
  const network = new Network(clock, 0);
  for (const { path, bytes, at } of flows) {
    clock.schedule(new Call(() => network.start(new TimedFlow(path, bytes, network))), at);
  }
  clock.run(() => network.settle());
  return clock.now;
}

/** Flows of other links share one that has a bucket: while it has tokens each has the rate of its own link, then a part. */
export function sharedBucketCheck(count: number, bytes: number, bucket: number): Check {
  const shared = new Link('shared', 1, bucket);
  const flows = Array.from({ length: count }, (_, flow): PlannedFlow => {
    return { path: [new Link(`own ${flow}`, 1), shared], bytes, at: 0 };
  });
  return {
    what: `${count} flows of ${bytes} bytes into a link with a bucket of ${bucket}`,
    // Tokens that outlast the flows do not make the links before this one faster.
    expected: Math.max(bytes, count * bytes - bucket),
    found: lastEnd(flows),
    relation: 'equal',
  };
}
