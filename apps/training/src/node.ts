import { type Groups, groups } from '@rdmc/group';
import { type Channels, hipower } from '@rdmc/hipower';
import { Node, type NodeOptions } from '@rdmc/node';
import { type Logs, tailwind } from '@rdmc/tailwind';

/** All three protocols on one node: one mesh, one device, one completion queue and one worker thread. */
export type TrainingNode = Node & {
  readonly groups: Groups;
  readonly channels: Channels;
  readonly logs: Logs;
};

export function joinNode(options: NodeOptions): Promise<TrainingNode> {
  return Node.join({
    ...options,
    protocols: { groups: groups(), channels: hipower(), logs: tailwind() },
  });
}
