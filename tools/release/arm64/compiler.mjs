// Debian's C++ compiler for arm64.
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { unpack } from './debian.mjs';
import { inside } from './folder.mjs';

const FOR_ARM64 = /(^|-)(aarch64|arm64|cross)(-|$)/;

/** The folder of the libraries that programs for arm64 are started with. */
export function libraries() {
  return join(unpack('compiler', ['g++-aarch64-linux-gnu'], FOR_ARM64), 'usr', 'aarch64-linux-gnu');
}

/** The path of a command that is the compiler. The addon has RDMA devices: the headers of libibverbs are there. */
export function compiler() {
  const gcc = unpack('compiler', ['g++-aarch64-linux-gnu'], FOR_ARM64);
  const ibverbs = unpack('ibverbs', ['libibverbs-dev']);
  const command = join(inside('bin'), 'aarch64-g++');
  const lines = [
    '#!/bin/sh',
    `export LD_LIBRARY_PATH='${join(gcc, 'usr', 'lib', 'x86_64-linux-gnu')}'`,
    `exec '${join(gcc, 'usr', 'bin', 'aarch64-linux-gnu-g++')}' --sysroot='${gcc}' ` +
      `-isystem '${join(ibverbs, 'usr', 'include')}' "$@"`,
  ];
  writeFileSync(command, `${lines.join('\n')}\n`);
  chmodSync(command, 0o755);
  return command;
}
