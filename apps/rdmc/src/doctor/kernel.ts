import { release } from 'node:os';
import { type CheckResult, result } from './check.js';
import { readSystemFile } from './system-files.js';

const MEMFD_SINCE = 3.17;
const POPULATE_SINCE = [5, 14] as const;

function isAtLeast(version: readonly [number, number], [major, minor]: readonly [number, number]): boolean {
  return version[0] > major || (version[0] === major && version[1] >= minor);
}

/** memfd_create (Linux 3.17) is needed; MADV_POPULATE_WRITE (5.14) makes faulting memory in fast. */
export function checkKernel(found = release()): CheckResult {
  const [major = 0, minor = 0] = found.split('.').map((part) => Number.parseInt(part, 10));
  const version = [major, minor] as const;
  if (!isAtLeast(version, [3, 17])) {
    const advice = `memfd_create needs Linux ${MEMFD_SINCE} or newer`;
    return result('kernel', 'Kernel', 'fail', found, advice);
  }
  if (!isAtLeast(version, POPULATE_SINCE)) {
    const advice = `Linux ${POPULATE_SINCE.join('.')} or newer faults memory in faster (MADV_POPULATE_WRITE)`;
    return result('kernel', 'Kernel', 'warn', `${found}: memfd_create, no MADV_POPULATE_WRITE`, advice);
  }
  return result('kernel', 'Kernel', 'ok', `${found}: memfd_create and MADV_POPULATE_WRITE`);
}

const HUGE_PAGES = '/sys/kernel/mm/transparent_hugepage/shmem_enabled';
const GOOD_SETTINGS = ['always', 'within_size', 'advise', 'force'];

/** Shared memory in huge pages: fewer page faults, faster copies of large messages. */
export function checkHugePages(content = readSystemFile(HUGE_PAGES)): CheckResult {
  const [id, title] = ['huge-pages', 'Huge pages'];
  const setting = /\[(\w+)\]/.exec(content ?? '')?.[1];
  if (setting === undefined) {
    return result(id, title, 'info', `not offered by this kernel (${HUGE_PAGES})`);
  }
  if (GOOD_SETTINGS.includes(setting)) return result(id, title, 'ok', `shared memory: ${setting}`);
  const advice = `optional, as root: echo advise > ${HUGE_PAGES}`;
  return result(id, title, 'info', `shared memory: ${setting}; regions use 4 KiB pages`, advice);
}
