import { formatBytes, formatCount } from '../ui/units.js';
import { type CheckResult, result, type Workload } from './check.js';
import { softLimit } from './system-files.js';

/**
 * Descriptors a member keeps: Node, worker and device themselves, and per peer a mesh connection, a device
 * connection, the peer's control segment and event descriptor, and its memory arenas.
 */
const BASE_DESCRIPTORS = 96;
const DESCRIPTORS_PER_PEER = 16;

export function checkOpenFiles({ members }: Workload, limit = softLimit('Max open files')): CheckResult {
  const [id, title] = ['open-files', 'Open files'];
  if (limit === undefined) return result(id, title, 'info', 'limit unknown');
  const needed = BASE_DESCRIPTORS + DESCRIPTORS_PER_PEER * (members - 1);
  const found = `limit ${formatCount(limit)}; a group of ${members} needs about ${formatCount(needed)} per process`;
  if (limit >= needed) return result(id, title, 'ok', found);
  return result(id, title, 'fail', found, `raise it: ulimit -n ${needed * 2}`);
}

/** The soft device locks nothing; a NIC must, so a small limit is worth knowing before there is one. */
export function checkLockedMemory(
  { sizeBytes }: Workload,
  limit = softLimit('Max locked memory'),
): CheckResult {
  const [id, title] = ['locked-memory', 'Locked memory'];
  if (limit === undefined) return result(id, title, 'info', 'limit unknown');
  if (limit === Number.POSITIVE_INFINITY) return result(id, title, 'ok', 'unlimited');
  const found = `limit ${formatBytes(limit)}; the soft device needs none`;
  if (limit >= sizeBytes) return result(id, title, 'ok', found);
  const advice = `a NIC locks registered memory and would need ${formatBytes(sizeBytes)}: ulimit -l unlimited`;
  return result(id, title, 'info', found, advice);
}
