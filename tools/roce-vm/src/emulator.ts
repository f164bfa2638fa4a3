import { join } from 'node:path';
import { TRANSLATION_CACHE_MIB } from './constants.js';
import type { Kernel } from './kernel.js';
import type { Settings } from './options.js';

export const EMULATOR = 'qemu-system-x86_64';
/** Ports of the machine that are byte streams to this process, in the order of the guest's scripts. */
export const PORTS = ['stdout', 'stderr', 'status'] as const;

/**
 * Without `rep movs` and similar instructions: the emulator executes them a byte or a word at a time, and the kernel copies and
 * clears memory with them if the processor reports that they are fast. Without them RoCE traffic is twice as fast. The kernel
 * sets feature 3·32+16, REP_GOOD, itself.
 */
const PROCESSOR = 'max,-erms,-fsrm';
const NO_REPEATED_MOVES = 'clearcpuid=112';

const BOOT = [
  'console=ttyS0 quiet loglevel=4',
  NO_REPEATED_MOVES,
  // A panic ends the machine, because of the emulator's -no-reboot.
  'panic=-1',
  // Guests do not need protection from each other.
  'mitigations=off nokaslr audit=0',
  // An emulated processor on a busy host is late, not stuck, and its time stamp counter is the host's.
  'nowatchdog rcupdate.rcu_cpu_stall_suppress=1 tsc=reliable no_timer_check',
].join(' ');

/**
 * Arguments of the emulator. Pure emulation (TCG): it works wherever the emulator does, on machines without KVM and
 * on those with an unreliable KVM.
 */
export function emulatorArguments(
  settings: Settings,
  kernel: Kernel,
  directory: string,
  interactive: boolean,
): string[] {
  const shares = [['r', '/', 'hostroot', 'on'] as const];
  const writable = settings.shared === undefined ? [] : [['s', settings.shared, 'shared', 'off'] as const];
  return [
    ...['-accel', `tcg,thread=multi,tb-size=${TRANSLATION_CACHE_MIB}`, '-cpu', PROCESSOR, '-machine', 'q35'],
    ...['-m', String(settings.memoryMiB), '-smp', String(settings.processors)],
    ...['-kernel', kernel.vmlinux, '-initrd', join(directory, 'initrd'), '-append', BOOT],
    ...['-nodefaults', '-no-user-config', '-no-reboot', '-display', 'none'],
    ...(interactive ? ['-serial', 'stdio'] : ['-serial', `file:${join(directory, 'console')}`]),
    ...[...shares, ...writable].flatMap(([id, path, tag, readonly]) => [
      ...['-fsdev', `local,id=${id},path=${path},security_model=none,readonly=${readonly},multidevs=remap`],
      ...['-device', `virtio-9p-pci,fsdev=${id},mount_tag=${tag}`],
    ]),
    ...['-device', 'virtio-serial-pci'],
    ...PORTS.flatMap((name, index) => [
      ...['-chardev', `socket,id=${name},path=${join(directory, name)}`],
      ...['-device', `virtserialport,chardev=${name},nr=${index + 1},name=roce-vm.${name}`],
    ]),
  ];
}
