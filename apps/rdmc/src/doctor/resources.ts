import { statfsSync } from 'node:fs';
import { availableParallelism, freemem, tmpdir } from 'node:os';
import { formatBytes } from '../ui/units.js';
import { type CheckResult, result, type Workload } from './check.js';
import { memoryField, readSystemFile } from './system-files.js';

/** Memory in bytes that this process and its children may still use: free memory, or the rest of the cgroup's limit. */
export function availableMemory(): number {
  const free = memoryField('MemAvailable') ?? freemem();
  const constrained = process.constrainedMemory();
  const usage = Number(readSystemFile('/sys/fs/cgroup/memory.current'));
  if (!constrained || constrained > Number.MAX_SAFE_INTEGER) return free;
  return Math.min(free, Number.isFinite(usage) ? constrained - usage : constrained);
}

/** Free space of the file system of temporary files, in bytes. */
export function freeDiskSpace(folder = tmpdir()): number {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}

/** Every member holds the message; the root has a second buffer to time copies; each process takes some memory. */
export function neededMemory({ members, byteLength }: Workload): number {
  return (members + 1) * byteLength + members * (64 << 20);
}

/** Each receiver writes the file that it received. */
export function neededDisk({ members, byteLength }: Workload): number {
  return (members - 1) * byteLength;
}

export function checkMemory(workload: Workload, available = availableMemory()): CheckResult {
  const needed = neededMemory(workload);
  const { members, byteLength } = workload;
  const found = `${formatBytes(available)} available; ${members} members with ${formatBytes(byteLength)} need ${formatBytes(needed)}`;
  const status = available >= needed ? 'ok' : 'warn';
  const advice = status === 'ok' ? null : 'use a smaller --size or fewer --members';
  return result('memory', 'Memory', status, found, advice);
}

export function checkDisk(workload: Workload, folder = tmpdir()): CheckResult {
  const [id, title] = ['disk', 'Temporary files'];
  try {
    const free = freeDiskSpace(folder);
    const needed = neededDisk(workload);
    const found = `${formatBytes(free)} free in ${folder}; ${workload.members - 1} received files need ${formatBytes(needed)}`;
    if (free >= needed) return result(id, title, 'ok', found);
    return result(id, title, 'warn', found, 'free some space, or set TMPDIR to a larger file system');
  } catch (error) {
    return result(
      id,
      title,
      'fail',
      `${folder}: ${(error as Error).message}`,
      'set TMPDIR to a folder that exists',
    );
  }
}

/** Members poll during a transfer; with more members than processors they take turns. */
export function checkProcessors({ members }: Workload, processors = availableParallelism()): CheckResult {
  const [id, title] = ['processors', 'Processors'];
  const found = `${processors} for ${members} members`;
  if (processors >= members) return result(id, title, 'ok', found);
  const advice = 'members take turns on shared processors, and yield when they have no work; rates are lower';
  return result(id, title, 'info', found, advice);
}

/** Share of processor time that the hypervisor gave to other guests since boot, 0 to 1. */
function stealShare(stat: string): number {
  const fields = (stat.split('\n')[0] ?? '').trim().split(/\s+/).slice(1, 9).map(Number);
  const total = fields.reduce((sum, value) => sum + value, 0);
  return total > 0 ? (fields[7] ?? 0) / total : 0;
}

const NOTICEABLE_STEAL = 0.01;

export function checkVirtualisation(
  cpuinfo = readSystemFile('/proc/cpuinfo') ?? '',
  stat = readSystemFile('/proc/stat') ?? '',
): CheckResult {
  const [id, title] = ['virtualisation', 'Virtual machine'];
  if (!/^flags\s*:.*\bhypervisor\b/m.test(cpuinfo)) return result(id, title, 'ok', 'no sign of one');
  const steal = stealShare(stat);
  const found = `yes; ${(steal * 100).toFixed(1)}% of processor time went to other guests since boot`;
  const advice =
    steal < NOTICEABLE_STEAL ? null : 'measure several times, and compare only ratios of one run';
  return result(id, title, steal < NOTICEABLE_STEAL ? 'ok' : 'warn', found, advice);
}
