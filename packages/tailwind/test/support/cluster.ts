import { join } from 'node:path';
import type { DataPlane } from '@rdmc/dataplane';
import { Mesh, reserveLoopbackPorts } from '@rdmc/mesh';
import {
  Backup,
  BackupService,
  Coordinator,
  CoordinatorClient,
  type CoordinatorOptions,
  EntryType,
  encodeObject,
  FileStore,
  Log,
  type LogAuthority,
  type LogEntry,
  type LogOptions,
  type Minimum,
  scanSegment,
  segmentEntries,
  startPlane,
} from '@rdmc/tailwind';
import { onTestFinished } from 'vitest';
import { CLUSTER, temporaryDirectory } from './backups.js';

export const SEGMENT = 16 * 1024;

export interface ClusterMember {
  readonly id: number;
  readonly mesh: Mesh;
  readonly plane: DataPlane;
  readonly backup: Backup;
  readonly service: BackupService;
  readonly directory: string;
  /** Ends the member as if its process had died. */
  kill(): Promise<void>;
}

export interface ClusterOptions {
  readonly buffers?: number;
  readonly segmentBytes?: number;
  /** Of the backups of an earlier cluster, by member. */
  readonly directories?: readonly string[];
  /** How the soft device reaches others (default: its own choice). */
  readonly transport?: 'shm' | 'tcp';
  /** The member that the backups ask about logs (default: they ask nobody). */
  readonly coordinator?: number;
}

/** Members 0 to n − 1 in this process, each with a mesh, a data plane and a backup; gone at the end of the test. */
export async function startCluster(n: number, options: ClusterOptions = {}): Promise<ClusterMember[]> {
  const reserved = await reserveLoopbackPorts(n);
  const members = reserved.map(({ host, port }, id) => ({ id, host, port }));
  return Promise.all(
    reserved.map(async ({ server }, id) => {
      const mesh = await Mesh.join({ id, members, server, silenceTimeoutMs: 0 });
      const { transport } = options;
      const plane = await startPlane(mesh, {
        windowMs: 0,
        ...(transport && { device: { device: 'soft', transport } }),
      });
      const directory = options.directories?.[id] ?? temporaryDirectory();
      const backup = await Backup.open({
        protectionDomain: plane.protectionDomain,
        directory,
        clusterId: CLUSTER,
        segmentBytes: options.segmentBytes ?? SEGMENT,
        buffers: options.buffers ?? 16,
      });
      const { coordinator } = options;
      const asked = coordinator !== undefined && { coordinator: new CoordinatorClient(mesh, coordinator) };
      const service = new BackupService(mesh, plane, backup, { ...asked });
      let ended: Promise<void> | undefined;
      const end = async (): Promise<void> => {
        await service.close();
        await backup.close();
        await plane.close();
        await mesh.close();
      };
      const stop = (): Promise<void> => {
        ended ??= end();
        return ended;
      };
      onTestFinished(stop);
      const kill = async (): Promise<void> => {
        await plane.terminate();
        await stop();
      };
      return { id, mesh, plane, backup, service, directory, kill };
    }),
  );
}

/** Remembers what it was asked to raise; `hold` makes it wait, `refuse` makes it refuse. */
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
  { mesh, plane }: ClusterMember,
  options: Partial<LogOptions> = {},
): Promise<{ log: Log; authority: TestAuthority }> {
  const authority = new TestAuthority();
  const log = await Log.create({
    mesh,
    plane,
    authority,
    logId: 7n,
    incarnation: 1,
    segmentBytes: SEGMENT,
    ...options,
  });
  onTestFinished(() => log.close());
  return { log, authority };
}

/** A coordinator at a member, with short leases and a store in a directory of its own. */
export async function startCoordinator(
  { mesh }: ClusterMember,
  options: Partial<CoordinatorOptions> = {},
  path = join(temporaryDirectory(), 'state'),
): Promise<Coordinator> {
  const store = await FileStore.open(path);
  const coordinator = await Coordinator.start({ mesh, store, leaseMs: 50, leaseMarginMs: 10, ...options });
  onTestFinished(() => coordinator.close());
  return coordinator;
}

/** A log whose authority is the coordinator. */
export async function coordinatedLog(
  { mesh, plane }: ClusterMember,
  coordinatorId: number,
  options: Partial<LogOptions> = {},
): Promise<Log> {
  const authority = new CoordinatorClient(mesh, coordinatorId);
  const { logId, incarnation } = await authority.createLog();
  const log = await Log.create({
    mesh,
    plane,
    authority,
    logId,
    incarnation,
    segmentBytes: SEGMENT,
    ...options,
  });
  onTestFinished(() => log.close());
  return log;
}

/** An object of so many bytes whose key is its number. */
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

/** Waits for a condition by looking again at every turn of the event loop. */
export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve));
}
