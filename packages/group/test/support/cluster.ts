import { createHash } from 'node:crypto';
import {
  type Group,
  type GroupOptions,
  type MemoryRegion,
  type NodeOptions,
  type ProtocolOptions,
  RdmcNode,
} from '@rdmc/group';
import { reserveLoopbackPorts } from '@rdmc/mesh/loopback';
import { fillFrom, PATIENT, startMembers } from '@rdmc/testing';
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';

/** The thread of the worker's side. RDMC_TEST_THREAD=application runs all tests with the application's thread. */
const thread = process.env.RDMC_TEST_THREAD === 'application' ? 'application' : 'worker';

type ClusterOptions = Partial<NodeOptions & ProtocolOptions>;

/** Nodes 0 to `count` − 1 in this process, each with its own worker and device. */
export async function startCluster(count: number, options: ClusterOptions = {}): Promise<RdmcNode[]> {
  const reserved = await reserveLoopbackPorts(count);
  return startMembers(reserved, (place) => RdmcNode.join({ ...place, windowMs: 0, thread, ...options }));
}

export async function stopCluster(nodes: readonly RdmcNode[]): Promise<void> {
  await Promise.all(nodes.map((node) => node.close()));
}

/** Nodes that all tests of a file or of a `describe` share; the array is filled before the first of them. */
export function clusterForAll(count: number, options?: ClusterOptions): readonly RdmcNode[] {
  const nodes: RdmcNode[] = [];
  beforeAll(async () => {
    nodes.push(...(await startCluster(count, options)));
  });
  afterAll(() => stopCluster(nodes.splice(0)));
  return nodes;
}

/** New nodes for each test; the array is filled before it. */
export function clusterForEach(count: number, options?: ClusterOptions): readonly RdmcNode[] {
  const nodes: RdmcNode[] = [];
  beforeEach(async () => {
    nodes.push(...(await startCluster(count, options)));
  });
  afterEach(() => stopCluster(nodes.splice(0)));
  return nodes;
}

/** A group's id for each test: not that of the test before, of which receivers may still be open. */
export function groupIdForEach(): { id: number } {
  const group = { id: 0 };
  beforeEach(() => {
    group.id += 1;
  });
  return group;
}

/** The same group at all its members, in their order: the root first. */
export function createEverywhere(nodes: readonly RdmcNode[], options: GroupOptions): Promise<Group[]> {
  const patient = { ...PATIENT, ...options };
  return Promise.all(options.members.map((id) => nodes[id]!.createGroup(patient)));
}

/** A region with content that depends on `seed`. */
export async function filledRegion(node: RdmcNode, byteLength: number, seed: number): Promise<MemoryRegion> {
  const region = await node.allocate(byteLength);
  fillFrom(seed, region.view(0, byteLength));
  return region;
}

export function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** The messages of one receiver until the root closes: numbers, sizes and hashes. */
export async function collect(group: Group): Promise<{ number: number; byteLength: number; hash: string }[]> {
  const received = [];
  for await (const message of group) {
    const { number, byteLength, view } = message;
    received.push({ number, byteLength, hash: sha256(view) });
    message.release();
  }
  return received;
}

/** Waits until all messages between the nodes so far have arrived: messages are in order per pair. */
export async function settleMessages(nodes: readonly RdmcNode[]): Promise<void> {
  const topic = 'test.settle';
  const subscriptions = nodes.map((node) => node.mesh.onRequest(topic, () => null));
  const pairs = nodes.flatMap((node) => nodes.map((other) => ({ node, other })));
  await Promise.all(pairs.map(({ node, other }) => node.mesh.request(other.id, topic, null)));
  for (const each of subscriptions) each.close();
}

/** Holds the message with which a member confirms that it has all messages of a group, until `release`. */
export function holdConfirmation({ mesh }: RdmcNode): { release(): void } {
  const send = mesh.send.bind(mesh);
  const held: (() => void)[] = [];
  /** Members that have left meanwhile get nothing. */
  const deliver: typeof send = (to, topic, body) => {
    if (mesh.peers.get(to)?.state === 'connected') send(to, topic, body);
  };
  mesh.send = (to, topic, body) => {
    if ((body as { type?: string }).type === 'stored') held.push(() => deliver(to, topic, body));
    else send(to, topic, body);
  };
  return {
    release: () => {
      mesh.send = send;
      for (const each of held) each();
    },
  };
}
