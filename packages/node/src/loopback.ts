import { anySignal } from '@rdmc/common';
import type { Member } from '@rdmc/mesh';
import { reserveLoopbackPorts } from '@rdmc/mesh/loopback';
import { NodeError } from './errors.js';
import type { NodeOptions } from './node-options.js';

const MOST_NODES = 256;

/** The options that `loopback` chooses for each node. */
export interface LoopbackPlace {
  /** The id of the node: its index in `members`. */
  readonly id: number;
  /** All nodes, at 127.0.0.1. */
  readonly members: readonly Member[];
  /** A server that listens at this node's port. The node owns it from the join on. */
  readonly server: NonNullable<NodeOptions['server']>;
  /** Aborted when the caller's signal is, or when the join of another node fails. */
  readonly signal: AbortSignal;
}

/** Nodes of one process, by id. An array: `const [a, b] = nodes`, `nodes.map(…)`. */
export class LoopbackNodes<One extends { close(): Promise<void> }>
  extends Array<One>
  implements AsyncDisposable
{
  /** `map` and `filter` return plain arrays: their items need not be nodes. */
  static override get [Symbol.species](): ArrayConstructor {
    return Array;
  }

  /** Closes all nodes, at once. Idempotent, as `close` of a node. */
  async close(): Promise<void> {
    await Promise.all(Array.from(this, (node) => node.close()));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/**
 * Joins `count` nodes of this process, with ids from 0, over free ports of 127.0.0.1: for first programs, tests and
 * benchmarks of one process. Each has its own worker thread. `Node.loopback`, `RdmcNode.loopback` and
 * `HiPowerNode.loopback` call it; a short form of a protocol of your own can do so as well.
 *
 * The first failure ends the joins of the others; everything is closed when this rejects.
 * @param where the name of the called function, for messages
 * @param join joins one node, with these options beside its own
 * @throws NodeError ERR_RDMC_INVALID_OPTION unless `count` is a whole number from 1 to 256; the errors of `join`
 */
export async function joinLoopback<One extends { close(): Promise<void> }>(
  where: string,
  count: number,
  join: (place: LoopbackPlace) => Promise<One>,
  signal?: AbortSignal,
): Promise<LoopbackNodes<One>> {
  if (!Number.isSafeInteger(count) || count < 1 || count > MOST_NODES) {
    throw new NodeError(
      'ERR_RDMC_INVALID_OPTION',
      `${where}: the number of nodes must be a whole number from 1 to ${MOST_NODES}, not ${String(count)}`,
    );
  }
  const reserved = await reserveLoopbackPorts(count);
  const members = reserved.map(({ host, port }, id) => ({ id, host, port }));
  const failed = new AbortController();
  const ended = signal ? anySignal(signal, failed.signal) : failed.signal;
  let cause: unknown;
  const joining = reserved.map(async ({ server }, id) => {
    try {
      return await join({ id, members, server, signal: ended });
    } catch (error) {
      // A node that refuses its options has not taken the server.
      server.close();
      cause ??= error;
      failed.abort(error);
      return undefined;
    }
  });
  const nodes = new LoopbackNodes<One>();
  for (const node of await Promise.all(joining)) if (node !== undefined) nodes.push(node);
  if (nodes.length === count) return nodes;
  await nodes.close();
  throw cause;
}
