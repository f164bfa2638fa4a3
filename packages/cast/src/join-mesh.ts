import type { Server } from 'node:net';
import type { Key, Logger } from '@rdmc/common';
import { type NodeOptions, RdmcNode } from '@rdmc/group';
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
}

/** Joins the mesh of a cast. The sender alone decides which member has stalled, so the mesh has no silence time-out. */
export async function joinMesh(facts: JoinFacts): Promise<RdmcNode> {
  const { id, members, server, localHost, ports, key, device, transport, timeoutMs, signal, logger, trace } =
    facts;
  const port = await freePortWithin(localHost, ports);
  return RdmcNode.join({
    id,
    members,
    server,
    listenHost: localHost,
    key,
    timeoutMs,
    silenceTimeoutMs: 0,
    signal,
    device: { device, transport, listen: { host: localHost, port } },
    trace,
    ...(logger && { logger }),
  } satisfies NodeOptions);
}
