import type { Subscription } from '@rdmc/common';
import { readShape } from '@rdmc/common/shapes';
import type { Mesh } from '@rdmc/mesh';
import type { CoordinatorClient } from '@rdmc/tailwind/coordinator';
import { reachMessage, type ServerProcess, Topic } from './messages.js';

/** Whether this member is connected with that process, and not with another one of its id. */
export function isReached(
  mesh: Pick<Mesh, 'id' | 'incarnation' | 'peers'>,
  { member, incarnation }: ServerProcess,
): boolean {
  if (member === mesh.id) return mesh.incarnation === incarnation;
  const peer = mesh.peers.get(member);
  return peer?.state === 'connected' && peer.incarnation === incarnation;
}

/** Answers the coordinator, which cannot tell a server that has ended from its own absence. */
export function serveWitness(
  mesh: Pick<Mesh, 'id' | 'incarnation' | 'peers'>,
  coordinator: Pick<CoordinatorClient, 'onRequest'>,
): Subscription {
  return coordinator.onRequest(Topic.REACH, (_, body) => {
    const { processes } = readShape(reachMessage, body);
    return { reached: processes.map((process) => isReached(mesh, process)) };
  });
}
