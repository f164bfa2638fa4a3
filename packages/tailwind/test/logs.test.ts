import { type LocalKey, remoteKey } from '@rdmc/verbs';
/** The `Logs` of a node: when they can be used, and what ends with the node. */

import { Mesh } from '@rdmc/mesh';
import { reserveLoopbackPorts } from '@rdmc/mesh/loopback';
import type { LogOptions, Logs } from '@rdmc/tailwind';
import { Backup } from '@rdmc/tailwind/backup';
import { Coordinator, CoordinatorClient, FileStore } from '@rdmc/tailwind/coordinator';
import { membersAt, refusal, startMembers, temporaryDirectory } from '@rdmc/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { NodeParts } from '../src/node-parts.js';
import { CLUSTER } from './support/backups.js';
import {
  type ClusterMember,
  createLog,
  joinLogs,
  object,
  SEGMENT,
  startCluster,
  TestAuthority,
} from './support/cluster.js';

/** Options of a log that does not exist yet. */
function fresh(logId: bigint, more: Partial<LogOptions> = {}): LogOptions {
  return {
    authority: new TestAuthority(),
    logId,
    incarnation: 1,
    segmentBytes: SEGMENT,
    replicas: 1,
    ...more,
  };
}

/** Breaks the protocol in a node's worker: it takes a replacement without a target for one of an open channel. */
async function breakProtocol(logs: Logs): Promise<void> {
  const { link } = (logs as unknown as { readonly parts: NodeParts }).parts;
  const channel = link.number();
  const lost = { target: 1, pair: 0, member: 1, address: 0, rkey: remoteKey(0), key: 0 };
  const traced = { log: 0, segment: 0 };
  await link.commands.openChannel({ channel, address: 0, lkey: 0 as LocalKey, targets: [lost], traced });
  link.commands.replace({ channel, lost: 1, target: undefined as never });
}

it('a node whose joining is aborted rejects with an AbortError', async () => {
  const [reserved, absent] = await reserveLoopbackPorts(2);
  onTestFinished(() => void absent!.server.close());
  const members = [reserved!, absent!].map(({ host, port }, id) => ({ id, host, port }));
  const abort = new AbortController();
  const joining = joinLogs({ id: 0, members, server: reserved!.server, signal: abort.signal });
  const cause = new Error('enough');
  abort.abort(cause);
  await expect(joining).rejects.toMatchObject({ name: 'AbortError', code: 'ERR_RDMC_ABORTED', cause });
});

describe('a node that closes', () => {
  it.each(['worker', 'application'] as const)('ends its logs, and its service: thread %s', async (thread) => {
    const [first, second] = await startCluster(2);
    const { log } = await createLog(first!, { replicas: 1, thread });
    await log.append(object(1)).acknowledged;
    await first!.node.close();
    expect(log.signal.reason).toEqual(refusal('ERR_RDMC_LOG_CLOSED'));
    expect(() => log.append(object(2))).toThrow(refusal('ERR_RDMC_LOG_CLOSED'));
    await second!.logs.close();
    // The mesh is connected, and its topic is free: another service may answer.
    second!.mesh.onRequest('tailwind.backup', () => null).close();
  });

  it('ends a log that is being created', async () => {
    const [first, second] = await startCluster(2);
    let asked = (): void => {};
    const isAsked = new Promise<void>((resolve) => {
      asked = resolve;
    });
    second!.backup.openReplica = () => {
      asked();
      return new Promise(() => {});
    };
    const creating = first!.logs.create(fresh(7n));
    creating.catch(() => {});
    await isAsked;
    await first!.node.close();
    await expect(creating).rejects.toEqual(refusal('ERR_RDMC_LOG_CLOSED'));
  });

  it('refuses new logs, services and recoveries', async () => {
    const [{ node, logs, backup }] = (await startCluster(1)) as [ClusterMember];
    await node.close();
    const closed = refusal('ERR_RDMC_NODE_CLOSED');
    await expect(logs.create(fresh(7n))).rejects.toEqual(closed);
    await expect(logs.recover({ coordinator: logs.coordinator(0), logId: 7n })).rejects.toEqual(closed);
    expect(() => logs.serve(backup)).toThrow(closed);
  });
});

describe('a protocol that ends in the worker', () => {
  it('ends its logs with the reason; the node continues and refuses new logs', async () => {
    const [first] = await startCluster(2);
    const { log } = await createLog(first!, { replicas: 1 });
    const ended = new Promise((resolve) => log.signal.addEventListener('abort', resolve));
    await breakProtocol(first!.logs);
    await ended;
    expect(log.signal.reason).toEqual(refusal('ERR_RDMC_PROTOCOL_ENDED'));
    expect(() => log.append(object(1))).toThrow(refusal('ERR_RDMC_PROTOCOL_ENDED'));
    const died = refusal('ERR_RDMC_DATAPLANE_DIED');
    await expect(first!.logs.create(fresh(8n))).rejects.toEqual(died);
    await first!.service.close();
    expect(() => first!.logs.serve(first!.backup)).toThrow(died);
  });

  it('does not end a log in the application’s thread', async () => {
    const [first] = await startCluster(2);
    const { log } = await createLog(first!, { replicas: 1 });
    const { log: here } = await createLog(first!, { replicas: 1, logId: 8n, thread: 'application' });
    const ended = new Promise((resolve) => log.signal.addEventListener('abort', resolve));
    await breakProtocol(first!.logs);
    await ended;
    await here.append(object(1)).acknowledged;
  });
});

describe('a service', () => {
  it('is one per node, and can be opened after another was closed', async () => {
    const [{ logs, backup, service }] = (await startCluster(1)) as [ClusterMember];
    expect(() => logs.serve(backup)).toThrow(refusal('ERR_RDMC_BACKUP_SERVED'));
    await service.close();
    await logs.serve(backup).close();
    logs.serve(backup);
  });

  it('has no effect when it is refused', async () => {
    const [{ logs, backup, service }] = (await startCluster(1)) as [ClusterMember];
    await service.close();
    const wrong = { sweepIntervalMs: 1 };
    expect(() => logs.serve(backup, wrong)).toThrow(refusal('ERR_RDMC_INVALID_OPTION'));
    expect(() => logs.serve(backup, { colour: 1 } as never)).toThrow(refusal('ERR_RDMC_UNKNOWN_OPTION'));
    expect(() => logs.serve({} as never)).toThrow(refusal('ERR_RDMC_INVALID_OPTION'));
    logs.serve(backup);
  });
});

describe('the coordinator of a cluster', () => {
  it('is one of its members', async () => {
    const [{ logs }] = (await startCluster(1)) as [ClusterMember];
    for (const id of [1, -1, 'one' as never]) {
      expect(() => logs.coordinator(id)).toThrow(refusal('ERR_RDMC_INVALID_OPTION'));
    }
  });

  it('does not need a node, and neither do its clients', async () => {
    const reserved = await reserveLoopbackPorts(3);
    const members = membersAt(reserved);
    const joining = Mesh.join({ id: 0, members, server: reserved[0]!.server, silenceTimeoutMs: 0 });
    const nodes = [1, 2].map((id) => joinLogs({ id, members, server: reserved[id]!.server }));
    const [mesh, writer, keeper] = [await joining, await nodes[0]!, await nodes[1]!];
    onTestFinished(async () => {
      await Promise.all([writer.close(), keeper.close()]);
      await mesh.close();
    });
    const store = await FileStore.open(`${temporaryDirectory()}/state`);
    const coordinator = await Coordinator.open({ mesh, store });
    onTestFinished(() => coordinator.close());
    const place = { directory: temporaryDirectory(), clusterId: CLUSTER, segmentBytes: SEGMENT };
    const backup = await Backup.open({ protectionDomain: keeper.protectionDomain, ...place });
    onTestFinished(() => backup.close());
    keeper.logs.serve(backup, { coordinator: keeper.logs.coordinator(0) });
    const authority = writer.logs.coordinator(0);
    const { logId, incarnation } = await authority.createLog();
    const log = await writer.logs.create(fresh(logId, { authority, incarnation, backups: [2] }));
    await log.append(object(1)).acknowledged;
    expect(await new CoordinatorClient(mesh, 0).logs()).toEqual([
      expect.objectContaining({ logId, owner: 1 }),
    ]);
  });
});

describe('a logger', () => {
  it('is the node’s, if a log does not have its own', async () => {
    const said: string[] = [];
    const logger = { info: (_: object, message: string) => void said.push(message) };
    const reserved = await reserveLoopbackPorts(2);
    const [node, other] = await startMembers(reserved, (place) => joinLogs({ ...place, logger }));
    onTestFinished(async () => {
      await Promise.all([node!.close(), other!.close()]);
    });
    const place = { directory: temporaryDirectory(), clusterId: CLUSTER, segmentBytes: SEGMENT };
    const backup = await Backup.open({ protectionDomain: other!.protectionDomain, ...place });
    onTestFinished(() => backup.close());
    other!.logs.serve(backup);
    await node!.logs.create(fresh(7n));
    expect(said).toContain('log created');
    said.length = 0;
    const own: string[] = [];
    await node!.logs.create(fresh(8n, { logger: { info: (_, message) => void own.push(message) } }));
    expect([said, own]).toEqual([[], ['log created']]);
  });
});
