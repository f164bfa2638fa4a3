import { formatBytes, formatCount } from '../ui/units.js';
import { type CheckResult, result, type Workload } from './check.js';
import { readSystemFile, softLimit } from './system-files.js';

/**
 * Descriptors of a member: those of Node, worker and device, and per peer a mesh connection, a device connection, the
 * peer's control segment and event descriptor, and its memory arenas.
 */
const BASE_DESCRIPTORS = 96;
const DESCRIPTORS_PER_PEER = 16;

export function checkOpenFiles({ members }: Workload, limit = softLimit('Max open files')): CheckResult {
  const [id, title] = ['open-files', 'Open files'];
  if (limit === undefined) return result(id, title, 'info', 'limit unknown');
  const needed = BASE_DESCRIPTORS + DESCRIPTORS_PER_PEER * (members - 1);
  const found = `limit ${formatCount(limit)}; a group of ${members} needs about ${formatCount(needed)} per process`;
  if (limit >= needed) return result(id, title, 'ok', found);
  return result(id, title, 'fail', found, `raise the limit: ulimit -n ${needed * 2}`);
}

/** Memory that a member registers beside its message: rings, first blocks, and pools. */
const LOCKED_BESIDES_BYTES = 64 << 20;
const CAP_IPC_LOCK = 14n;

/** Whether the limit does not apply to this process. */
export function ignoresLockLimit(status = readSystemFile('/proc/self/status')): boolean {
  const effective = /^CapEff:\s*([0-9a-f]+)$/m.exec(status ?? '')?.[1];
  return effective !== undefined && ((BigInt(`0x${effective}`) >> CAP_IPC_LOCK) & 1n) === 1n;
}

/** The soft device does not lock memory; an RDMA device locks registered memory. */
export function checkLockedMemory(
  { byteLength }: Workload,
  rdma: boolean,
  limit = softLimit('Max locked memory'),
  exempt = ignoresLockLimit(),
): CheckResult {
  const [id, title] = ['locked-memory', 'Locked memory'];
  if (limit === undefined) return result(id, title, 'info', 'limit unknown');
  if (limit === Number.POSITIVE_INFINITY) return result(id, title, 'ok', 'unlimited');
  if (exempt) return result(id, title, 'ok', `limit ${formatBytes(limit)}, which this user may exceed`);
  const needed = byteLength + LOCKED_BESIDES_BYTES;
  const use = rdma ? `an RDMA device needs ${formatBytes(needed)}` : 'the soft device does not lock memory';
  const found = `limit ${formatBytes(limit)}; ${use}`;
  if (limit >= needed) return result(id, title, 'ok', found);
  const advice =
    `for ${formatBytes(needed)} and more: ulimit -l unlimited, or memlock in /etc/security/limits.conf, ` +
    'or LimitMEMLOCK=infinity in a systemd unit';
  return result(id, title, rdma ? 'fail' : 'info', found, advice);
}
