import type { DoctorDocument, Workload } from './check.js';
import { checkHardware, hardwareFacts, usableDevices } from './hardware.js';
import { checkHugePages, checkKernel } from './kernel.js';
import { checkLockedMemory, checkOpenFiles } from './limits.js';
import { checkDisk, checkMemory, checkProcessors, checkVirtualisation } from './resources.js';
import { rdmaSelfTest, selfTest } from './self-test.js';
import { checkAddon, checkNode, checkPlatform } from './software.js';

/** Runs all checks, in the order in which they are shown. Self-tests run only where a device opens. */
export async function examine(workload: Workload): Promise<DoctorDocument> {
  const addon = await checkAddon();
  const opens = addon[0]!.status === 'ok';
  const hardware = hardwareFacts();
  const usable = usableDevices(hardware);
  const rdmaTests = [];
  for (const { name } of usable) rdmaTests.push(await rdmaSelfTest(name));
  const checks = [
    checkNode(),
    checkPlatform(),
    ...addon,
    checkKernel(),
    checkHugePages(),
    checkOpenFiles(workload),
    checkLockedMemory(workload, usable.length > 0),
    checkMemory(workload),
    checkDisk(workload),
    checkProcessors(workload),
    checkVirtualisation(),
    ...checkHardware(hardware),
    ...(opens ? [await selfTest('shm'), await selfTest('tcp')] : []),
    ...rdmaTests,
  ];
  const healthy = checks.every(({ status }) => status !== 'fail');
  return { healthy, ...workload, checks };
}
