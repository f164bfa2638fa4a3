import type { Server } from 'node:net';
import type { Key, Logger } from '@rdmc/common';
import { type NodeOptions, type PreparedRdmcNode, RdmcNode } from '@rdmc/group';
import type { Member } from '@rdmc/mesh';
import type { Transport } from '@rdmc/verbs';
import { freePortWithin, type PortRange } from './ports.js';

export interface JoinFacts {
  readonly id: number;
  readonly members: readonly Member[];
  readonly server: Server;
  /** Address of this machine that the device listens on. */
  readonly localHost: string;
  readonly ports: PortRange | undefined;
  readonly key: Key | undefined;
  readonly device: string;
  readonly transport: Transport;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly logger: Logger | undefined;
  readonly trace: NodeOptions['trace'];
  /** Returns a worker that was started ahead, if there is one. */
  readonly prepared?: () => PreparedRdmcNode | undefined;
}

/** Joins the mesh of a cast. The sender alone decides which member has stalled, so the mesh has no silence time-out. */
export async function joinMesh(facts: JoinFacts): Promise<RdmcNode> {
  const { id, members, server, localHost, ports, key, timeoutMs, signal, logger, trace } = facts;
  const { device, transport } = facts;
  const port = await freePortWithin(localHost, ports);
  const options = {
    ...{ id, members, server, key, timeoutMs, signal },
    listenHost: localHost,
    silenceTimeoutMs: 0,
    device: { device, transport, listen: { host: localHost, port } },
    ...(logger && { logger }),
  } satisfies NodeOptions;
  // A trace names the member, which a prepared worker did not know.
  const prepared = trace ? undefined : facts.prepared?.();
  if (!prepared) return RdmcNode.join({ ...options, trace });
  try {
    return await RdmcNode.join({ ...options, prepared });
  } finally {
    // Without effect where the node has it.
    await prepared.close();
  }
}
