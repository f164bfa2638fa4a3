import { findKernelDevices, findVerbsLibrary } from '../devices/found.js';
import { type CheckResult, type DoctorDocument, result, type Workload } from './check.js';
import { checkHugePages, checkKernel } from './kernel.js';
import { checkLockedMemory, checkOpenFiles } from './limits.js';
import { checkDisk, checkMemory, checkProcessors, checkVirtualisation } from './resources.js';
import { selfTest } from './self-test.js';
import { checkAddon, checkNode, checkPlatform } from './software.js';

function checkHardware(): CheckResult {
  const devices = findKernelDevices().map(({ name, linkLayer }) => `${name} (${linkLayer})`);
  const library = findVerbsLibrary();
  const found = [
    devices.length > 0
      ? `${devices.join(', ')}: found, not driven by this version`
      : 'no RDMA device in this machine',
    library ? `${library} found, not used by this version` : 'libibverbs not installed',
  ];
  return result('hardware', 'RDMA hardware', 'info', found.join('; '));
}

/** All checks, in the order in which they are shown. Self-tests only where a device opens. */
export async function examine(workload: Workload): Promise<DoctorDocument> {
  const addon = await checkAddon();
  const opens = addon[0]!.status === 'ok';
  const checks = [
    checkNode(),
    checkPlatform(),
    ...addon,
    checkKernel(),
    checkHugePages(),
    checkOpenFiles(workload),
    checkLockedMemory(workload),
    checkMemory(workload),
    checkDisk(workload),
    checkProcessors(workload),
    checkVirtualisation(),
    checkHardware(),
    ...(opens ? [await selfTest('shm'), await selfTest('tcp')] : []),
  ];
  const healthy = checks.every(({ status }) => status !== 'fail');
  return { healthy, ...workload, checks };
}
