import { groups } from '@rdmc/group';
import { hipower } from '@rdmc/hipower';
import { Node, type NodeOptions } from '@rdmc/node';
import { tailwind } from '@rdmc/tailwind';

/** All three protocols on one node: one mesh, one device, one completion queue and one worker thread. */
export function joinNode(options: NodeOptions) {
  return Node.join({
    ...options,
    protocols: { groups: groups(), channels: hipower(), logs: tailwind() },
  });
}

export type TrainingNode = Awaited<ReturnType<typeof joinNode>>;
