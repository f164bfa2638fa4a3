// Programs for arm64 on another processor: qemu's user emulation. Such a program starts others of its kind, so the kernel
// has to know what runs them (binfmt_misc). It does so in a user namespace alone, and nothing outside changes.
import { join } from 'node:path';
import { libraries } from './compiler.mjs';
import { unpack } from './debian.mjs';
import { attempt } from './folder.mjs';
import { Missing } from './missing.mjs';

/** The first bytes of a program for arm64, and the bits of them that count. */
const MAGIC = '\\x7fELF\\x02\\x01\\x01\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x02\\x00\\xb7\\x00';
const MASK =
  '\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\x00\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xfe\\xff\\xff\\xff';
const REGISTER = [
  'mount -t binfmt_misc binfmt_misc /proc/sys/fs/binfmt_misc',
  'printf "%s" "$1" > /proc/sys/fs/binfmt_misc/register',
  'shift',
  'exec "$@"',
].join(' && ');

/** Starts programs for arm64. */
export class Emulator {
  #format;
  #libraries;

  /** @throws Missing if the kernel or the user's rights do not permit it */
  constructor() {
    const qemu = join(unpack('qemu', ['qemu-user-static']), 'usr', 'bin', 'qemu-aarch64-static');
    this.#libraries = libraries();
    // F: the kernel opens qemu now, so that its path does not matter later.
    this.#format = `:rdmc-arm64:M::${MAGIC}:${MASK}:${qemu}:F`;
    const { problem } = attempt('unshare', this.#arguments(['true']));
    if (problem)
      throw new Missing(`binfmt_misc in a user namespace (Linux 6.7 or newer, unshare): ${problem}`);
  }

  /** How a command for arm64 is started here. */
  command(command, args, env = {}) {
    return {
      command: 'unshare',
      args: this.#arguments([command, ...args]),
      env: { ...env, QEMU_LD_PREFIX: this.#libraries },
    };
  }

  #arguments(command) {
    const namespaces = ['--user', '--map-root-user', '--mount', '--'];
    return [...namespaces, 'sh', '-c', REGISTER, 'sh', this.#format, ...command];
  }
}
