import type { Server } from 'node:net';
import type { Key, Logger } from '@rdmc/common';
import type { NodeOptions, PreparedRdmcNode, RdmcNode } from '@rdmc/group';
import type { Member } from '@rdmc/mesh';
import { type DevicePlace, joinNode } from './join-node.js';

export interface JoinFacts extends DevicePlace {
  readonly id: number;
  readonly members: readonly Member[];
  readonly server: Server;
  readonly key: Key | undefined;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly logger: Logger | undefined;
  readonly trace: NodeOptions['trace'];
  /** Returns a worker that was started ahead, if there is one. */
  readonly prepared?: () => PreparedRdmcNode | undefined;
}

/** Joins the mesh of a cast. The sender alone decides which member has stalled, so the mesh has no silence time-out. */
export async function joinMesh(facts: JoinFacts): Promise<RdmcNode> {
  const { id, members, server, localHost, key, timeoutMs, signal, logger, trace } = facts;
  const options = {
    ...{ id, members, server, key, timeoutMs, signal },
    listenHost: localHost,
    silenceTimeoutMs: 0,
    ...(logger && { logger }),
  };
  // A trace names the member, which a prepared worker did not know.
  const prepared = trace ? undefined : facts.prepared?.();
  if (!prepared) return joinNode(facts, { ...options, trace });
  try {
    return await joinNode(facts, { ...options, prepared });
  } finally {
    // Without effect where the node has it.
    await prepared.close();
  }
}
