import { join } from 'node:path';
import type { DataPlane } from '@rdmc/dataplane';
import type { TraceFile } from '@rdmc/dataplane/trace';
import { type Member, Mesh } from '@rdmc/mesh';
import { reserveLoopbackPorts } from '@rdmc/mesh/loopback';
import { Node, type NodeOptions, type NodeWith } from '@rdmc/node';
import {
  EntryType,
  encodeObject,
  type Log,
  type LogAuthority,
  type LogEntry,
  type LogOptions,
  type Logs,
  type Minimum,
  tailwind,
} from '@rdmc/tailwind';
import { Backup, type BackupService } from '@rdmc/tailwind/backup';
import { Coordinator, type CoordinatorOptions, FileStore } from '@rdmc/tailwind/coordinator';
import { scanSegment, segmentEntries } from '@rdmc/tailwind/format';
import { PATIENT, startMembers, temporaryDirectory } from '@rdmc/testing';
import { onTestFinished } from 'vitest';
import { CLUSTER } from './backups.js';

export const SEGMENT = 16 * 1024;

type LogsNode = NodeWith<{ readonly logs: ReturnType<typeof tailwind> }>;

export interface ClusterMember {
  readonly id: number;
  readonly node: LogsNode;
  readonly mesh: Mesh;
  readonly logs: Logs;
  readonly backup: Backup;
  readonly service: BackupService;
  readonly directory: string;
  /** Ends the member as if its process had died. */
  kill(): Promise<void>;
}

export interface ClusterOptions {
  /** Of the first member. */
  readonly trace?: TraceFile;
  readonly buffers?: number;
  readonly segmentBytes?: number;
  /** Directories of the backups of an earlier cluster, by member. */
  readonly directories?: readonly string[];
  /** Transport of the soft device (default: its own choice). */
  readonly transport?: 'shm' | 'tcp';
  /** The coordinator that the backups ask about logs (default: none). */
  readonly coordinator?: number;
  /** Gives entries their slots (default: none). */
  readonly divider?: URL;
}

/** The data plane of a node, which is not public. */
export function planeOf(node: Node): DataPlane {
  return (node as unknown as { readonly plane: DataPlane }).plane;
}

/** Joins as a member that only runs logs. */
export function joinLogs(
  options: Pick<NodeOptions, 'id' | 'server' | 'device' | 'timeoutMs' | 'logger' | 'signal' | 'trace'> & {
    readonly members: Member[];
  },
): Promise<LogsNode> {
  return Node.join({ silenceTimeoutMs: 0, windowMs: 0, ...options, protocols: { logs: tailwind() } });
}

/** Closes a member at the end of the test. Returns how to end it as if its process had died. */
export function endOf(node: Node, backup: Backup, service: BackupService): () => Promise<void> {
  let ended: Promise<void> | undefined;
  const end = async (): Promise<void> => {
    await service.close();
    await backup.close();
    await node.close();
  };
  const stop = (): Promise<void> => {
    ended ??= end();
    return ended;
  };
  onTestFinished(stop);
  return async () => {
    await planeOf(node).terminate();
    await stop();
  };
}

/** Members 0 to n − 1 in this process, each a node with a backup; closed at the end of the test. */
export async function startCluster(n: number, options: ClusterOptions = {}): Promise<ClusterMember[]> {
  const reserved = await reserveLoopbackPorts(n);
  return startMembers(reserved, async (place) => {
    const { transport } = options;
    const device = transport && { device: 'soft', transport };
    const trace = place.id === 0 ? options.trace : undefined;
    const node = await joinLogs({ ...place, trace, ...(device && { device }) });
    const directory = options.directories?.[place.id] ?? temporaryDirectory();
    const backup = await Backup.open({
      protectionDomain: node.protectionDomain,
      directory,
      clusterId: CLUSTER,
      segmentBytes: options.segmentBytes ?? SEGMENT,
      buffers: options.buffers ?? 16,
    });
    const { coordinator, divider } = options;
    const asked = coordinator !== undefined && { coordinator: node.logs.coordinator(coordinator) };
    const service = node.logs.serve(backup, { ...asked, ...(divider && { divider }) });
    const kill = endOf(node, backup, service);
    return { id: place.id, node, mesh: node.mesh, logs: node.logs, backup, service, directory, kill };
  });
}

/**
 * Members 0 to n − 1 in this process that have a mesh and nothing else, for coordinators and their clients; closed at the end
 * of the test. A node also starts a thread and opens a device.
 */
export async function startMeshes(n: number): Promise<Pick<ClusterMember, 'mesh' | 'kill'>[]> {
  return startMembers(await reserveLoopbackPorts(n), async (place) => {
    const mesh = await Mesh.join({ ...place, silenceTimeoutMs: 0 });
    const kill = (): Promise<void> => mesh.close();
    onTestFinished(kill);
    return { mesh, kill };
  });
}

/** Records the minima that it was asked to raise; `hold` makes it wait, `refuse` makes it refuse. */
export class TestAuthority implements LogAuthority {
  readonly raised: Minimum[] = [];
  refuses = false;
  onRaise: () => Promise<void> = async () => {};

  async raiseMinimum(_ref: unknown, minimum: Minimum): Promise<void> {
    await this.onRaise();
    if (this.refuses) throw Object.assign(new Error('declared dead'), { code: 'ERR_RDMC_LOG_FENCED' });
    this.raised.push(minimum);
  }
}

export async function createLog(
  { logs }: ClusterMember,
  options: Partial<LogOptions> = {},
): Promise<{ log: Log; authority: TestAuthority }> {
  const authority = new TestAuthority();
  const log = await logs.create({
    authority,
    logId: 7n,
    incarnation: 1,
    segmentBytes: SEGMENT,
    ...PATIENT,
    ...options,
  });
  onTestFinished(() => log.close());
  return { log, authority };
}

/** Upper limit of queue pair numbers at a backup in a test. */
const MAX_PAIRS = 100;

/** Ends all queue pairs of a member with backups; the backups live and keep their replicas. */
export async function breakPairs({ mesh }: ClusterMember, backups: readonly number[]): Promise<void> {
  const pairs = Array.from({ length: MAX_PAIRS }, (_, pair) => pair);
  await Promise.all(
    backups.flatMap((id) =>
      pairs.map((pair) => mesh.request(id, 'tailwind.backup', { op: 'disconnect', pair })),
    ),
  );
}

/** A coordinator at a member, with short leases and a store in a directory of its own. */
export async function startCoordinator(
  { mesh }: Pick<ClusterMember, 'mesh'>,
  options: Partial<CoordinatorOptions> = {},
  path = join(temporaryDirectory(), 'state'),
): Promise<Coordinator> {
  const store = await FileStore.open(path);
  const coordinator = await Coordinator.open({ mesh, store, leaseMs: 50, leaseMarginMs: 10, ...options });
  onTestFinished(() => coordinator.close());
  return coordinator;
}

/** A log whose authority is the coordinator. */
export async function coordinatedLog(
  { logs }: ClusterMember,
  coordinatorId: number,
  options: Partial<LogOptions> = {},
): Promise<Log> {
  const authority = logs.coordinator(coordinatorId);
  const { logId, incarnation } = await authority.createLog();
  const log = await logs.create({
    authority,
    logId,
    incarnation,
    segmentBytes: SEGMENT,
    ...PATIENT,
    ...options,
  });
  onTestFinished(() => log.close());
  return log;
}

/** An object with this many bytes, whose key is its number. */
export function object(number: number, valueBytes = 100): LogEntry {
  const parts = encodeObject(
    number,
    Buffer.from(String(number)),
    new Uint8Array(valueBytes).fill(1 + (number % 255)),
  );
  return { type: EntryType.OBJECT, parts };
}

/** The keys of the objects in a segment's complete prefix. */
export function keysIn(bytes: Uint8Array, segmentId: bigint): number[] {
  const { offset } = scanSegment(bytes, { logId: 7n, segmentId, incarnation: 1 });
  return [...segmentEntries(bytes, offset)]
    .filter(({ type }) => type === EntryType.OBJECT)
    .map(({ payload }) => {
      const keyLength = payload[8]!;
      return Number(Buffer.from(payload.subarray(12, 12 + keyLength)).toString());
    });
}
