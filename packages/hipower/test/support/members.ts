import { type HiPowerNode, hipower } from '@rdmc/hipower';
import { reserveLoopbackPorts } from '@rdmc/mesh/loopback';
import { Node, type NodeOptions } from '@rdmc/node';
import { PATIENT, startMembers as startAt } from '@rdmc/testing';
import { onTestFinished } from 'vitest';
import { deviceOver } from './cluster.js';

/** A node with the interface of the short form. */
export type MemberNode = Pick<
  HiPowerNode,
  'id' | 'mesh' | 'device' | 'counters' | 'createRequester' | 'createResponder' | 'close'
>;

/** Another module for the worker's side of a member, and its `data`. */
export interface OtherWorker {
  readonly module: URL;
  readonly data?: unknown;
}

export interface Member {
  readonly node: MemberNode;
}

/** Members 0 to `count` − 1, closed at the end of the test; those that `workers` names have another worker's side. */
export async function startMembers(
  count: number,
  workers: Readonly<Record<number, OtherWorker>>,
  transport: 'shm' | 'tcp' | 'auto' = 'auto',
): Promise<Member[]> {
  const reserved = await reserveLoopbackPorts(count);
  const started = await startAt(reserved, async (place) => {
    const options = { ...place, device: deviceOver(transport), windowMs: 0 };
    return { node: await join(options, workers[place.id]) };
  });
  onTestFinished(async () => {
    await Promise.all(started.map(({ node }) => node.close()));
  });
  return started;
}

async function join(options: NodeOptions, other: OtherWorker | undefined): Promise<MemberNode> {
  const own = hipower();
  const channels = other ? { ...own, worker: other.module, data: () => other.data } : own;
  const node = await Node.join({ ...options, protocols: { channels } });
  return {
    id: node.id,
    mesh: node.mesh,
    device: node.device,
    counters: () => node.counters(),
    createRequester: (requester) => node.channels.requester({ ...PATIENT, ...requester }),
    createResponder: (responder) => node.channels.responder({ ...PATIENT, ...responder }),
    close: () => node.close(),
  };
}
