import { join } from 'node:path';
import { TRANSLATION_CACHE_MIB } from './constants.js';
import type { Kernel } from './kernel.js';
import type { Settings } from './options.js';

export const EMULATOR = 'qemu-system-x86_64';
/** Ports of the machine that are byte streams to this process, in the order the guest's scripts know them by. */
export const PORTS = ['stdout', 'stderr', 'status'] as const;

/**
 * Without `rep movs` and its kind: the emulator carries them out a byte or a word at a time, and the kernel copies and
 * clears memory with them where a processor calls them fast. It makes RoCE traffic twice as fast not to. The kernel
 * sets feature 3·32+16, REP_GOOD, by itself.
 */
const PROCESSOR = 'max,-erms,-fsrm';
const NO_REPEATED_MOVES = 'clearcpuid=112';

const BOOT = [
  'console=ttyS0 quiet loglevel=4',
  NO_REPEATED_MOVES,
  // A panic is an end, and the emulator's -no-reboot makes it one.
  'panic=-1',
  // No guest here guards against another.
  'mitigations=off nokaslr audit=0',
  // An emulated processor on a busy host is late without being stuck, and its time stamp counter is the host's.
  'nowatchdog rcupdate.rcu_cpu_stall_suppress=1 tsc=reliable no_timer_check',
].join(' ');

/**
 * Arguments of the emulator. Pure emulation (TCG): it works wherever the emulator does, on machines without KVM and
 * on those whose KVM is not to be trusted.
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
