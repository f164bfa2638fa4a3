import { describe, expect, it } from 'vitest';
import { doctorDocument } from '../src/doctor/check.js';
import { checkHugePages, checkKernel } from '../src/doctor/kernel.js';
import { checkLockedMemory, checkOpenFiles, ignoresLockLimit } from '../src/doctor/limits.js';
import { checkDisk, checkMemory, checkProcessors, checkVirtualisation } from '../src/doctor/resources.js';
import { selfTest } from '../src/doctor/self-test.js';
import { checkNode, checkPlatform } from '../src/doctor/software.js';
import { memoryField, softLimit } from '../src/doctor/system-files.js';
import { answer, run } from './support/cli.js';

const GIB = 2 ** 30;
const workload = { members: 8, byteLength: GIB };

describe('rdmc doctor', () => {
  it('checks everything, each with a status, what was found, and advice where it failed', async () => {
    const { code, stdout } = await run('doctor', '--members', '4', '--size', '1MiB', '--json');
    const document = doctorDocument.parse(JSON.parse(stdout));
    expect(document).toMatchObject({ members: 4, byteLength: 2 ** 20 });
    // One check for each RDMA device, or one check if there is none.
    const ids = document.checks.map(({ id }) => id);
    const devices = ids.slice(ids.indexOf('rdma-library') + 1, ids.indexOf('self-test-shm'));
    expect(devices.length).toBeGreaterThan(0);
    for (const id of devices) expect(id).toMatch(/^rdma-/);
    expect(ids.filter((id) => !devices.includes(id))).toEqual([
      'node',
      'platform',
      'addon',
      'kernel',
      'huge-pages',
      'open-files',
      'locked-memory',
      'memory',
      'disk',
      'processors',
      'virtualisation',
      'rdma-library',
      'self-test-shm',
      'self-test-tcp',
    ]);
    for (const check of document.checks) if (check.status === 'fail') expect(check.advice).not.toBeNull();
    expect(document.healthy).toBe(document.checks.every(({ status }) => status !== 'fail'));
    expect(code).toBe(document.healthy ? 0 : 1);
  });

  it('prints a line per check for people', async () => {
    const { stdout } = await answer('doctor', '--size', '1MiB');
    expect(stdout).toMatch(/^ok {4}Native addon +loads/m);
    expect(stdout).toMatch(/^ok {4}Self-test, shm +1 MiB written/m);
  });
});

describe('self-test', () => {
  it('writes from one soft device to another over shared memory', async () => {
    expect(await selfTest('shm')).toMatchObject({ status: 'ok', advice: null });
  });

  it('writes from one soft device to another over TCP', async () => {
    expect(await selfTest('tcp')).toMatchObject({ status: 'ok', advice: null });
  });
});

describe('single checks', () => {
  it('Node: 20.19 is the least', () => {
    expect(checkNode('20.19.0').status).toBe('ok');
    expect(checkNode('22.0.0').status).toBe('ok');
    expect(checkNode('20.18.9')).toMatchObject({ status: 'fail', advice: 'install Node.js 20.19 or newer' });
    expect(checkNode('18.20.0').status).toBe('fail');
  });

  it('platform: devices need Linux', () => {
    expect(checkPlatform('linux', 'arm64')).toMatchObject({ status: 'ok', found: 'linux-arm64' });
    expect(checkPlatform('darwin', 'arm64').status).toBe('fail');
  });

  it('kernel: memfd_create is needed, MADV_POPULATE_WRITE is better', () => {
    expect(checkKernel('6.1.0-13-amd64').status).toBe('ok');
    expect(checkKernel('5.14.0').status).toBe('ok');
    expect(checkKernel('5.13.19').status).toBe('warn');
    expect(checkKernel('4.19.0').status).toBe('warn');
    expect(checkKernel('3.10.0-1160.el7').status).toBe('fail');
  });

  it('huge pages: the setting in brackets counts', () => {
    expect(checkHugePages('always within_size [advise] never deny force').status).toBe('ok');
    expect(checkHugePages('always within_size advise [never] deny force')).toMatchObject({
      status: 'info',
      advice: expect.stringContaining('echo advise'),
    });
    expect(checkHugePages(undefined).status).toBe('info');
  });

  it('open files: the limit must do for all peers', () => {
    expect(checkOpenFiles(workload, 1024).status).toBe('ok');
    expect(checkOpenFiles({ ...workload, members: 100 }, 1024)).toMatchObject({
      status: 'fail',
      advice: expect.stringContaining('ulimit -n'),
    });
    expect(checkOpenFiles(workload, Number.POSITIVE_INFINITY).status).toBe('ok');
  });

  it('locked memory: a limit counts where there is an RDMA device, with the number that is needed', () => {
    const small = 8 << 20;
    expect(checkLockedMemory(workload, true, Number.POSITIVE_INFINITY, false).status).toBe('ok');
    expect(checkLockedMemory(workload, true, small, true).status).toBe('ok');
    expect(checkLockedMemory(workload, true, 2 * GIB, false).status).toBe('ok');
    const advice = expect.stringMatching(/^for 1\.1 GiB and more: ulimit -l unlimited/);
    expect(checkLockedMemory(workload, true, small, false)).toMatchObject({ status: 'fail', advice });
    expect(checkLockedMemory(workload, false, small, false)).toMatchObject({ status: 'info', advice });
  });

  it('locked memory: a capability lifts the limit', () => {
    expect(ignoresLockLimit('Name:\tnode\nCapEff:\t0000000000004000\n')).toBe(true);
    expect(ignoresLockLimit('CapEff:\t0000000000003fff\n')).toBe(false);
    expect(ignoresLockLimit('')).toBe(false);
  });

  it('memory: every member holds the message', () => {
    expect(checkMemory(workload, 16 * GIB).status).toBe('ok');
    expect(checkMemory(workload, 8 * GIB).status).toBe('warn');
  });

  it('disk: a folder that does not exist fails', () => {
    expect(checkDisk({ members: 2, byteLength: 1 }, '/').status).toBe('ok');
    expect(checkDisk({ members: 2, byteLength: 2 ** 52 }, '/').status).toBe('warn');
    expect(checkDisk(workload, '/does/not/exist').status).toBe('fail');
  });

  it('processors: fewer than members means taking turns', () => {
    expect(checkProcessors(workload, 8).status).toBe('ok');
    expect(checkProcessors(workload, 2).status).toBe('info');
  });

  it('virtual machine: stolen time is a warning', () => {
    const stat = (steal: number): string => `cpu  1000 0 0 9000 0 0 0 ${steal} 0 0\n`;
    expect(checkVirtualisation('flags\t\t: fpu vme', stat(500)).status).toBe('ok');
    expect(checkVirtualisation('flags\t\t: fpu hypervisor lahf', stat(0)).status).toBe('ok');
    expect(checkVirtualisation('flags\t\t: fpu hypervisor lahf', stat(500))).toMatchObject({
      status: 'warn',
      found: expect.stringContaining('4.8%'),
    });
  });
});

describe('system files', () => {
  it('gives the soft limit of a resource', () => {
    const limits =
      'Limit  Soft Limit  Hard Limit  Units\nMax open files            1024                 4096  files\nMax locked memory         unlimited            unlimited            bytes';
    expect(softLimit('Max open files', limits)).toBe(1024);
    expect(softLimit('Max locked memory', limits)).toBe(Number.POSITIVE_INFINITY);
    expect(softLimit('Max nothing', limits)).toBeUndefined();
  });

  it('gives fields of meminfo in bytes', () => {
    expect(memoryField('MemAvailable', 'MemTotal: 10 kB\nMemAvailable:     12 kB\n')).toBe(12 * 1024);
    expect(memoryField('MemFree', 'MemTotal: 10 kB\n')).toBeUndefined();
  });
});
