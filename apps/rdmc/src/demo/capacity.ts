import { tmpdir } from 'node:os';
import type { Workload } from '../doctor/check.js';
import { availableMemory, freeDiskSpace, neededDisk, neededMemory } from '../doctor/resources.js';
import { CliError } from '../errors.js';
import { ExitCode } from '../exit-codes.js';
import { formatBytes } from '../ui/units.js';

function tooLittle(code: string, what: string, advice: string): CliError {
  return new CliError(code, what, { exitCode: ExitCode.NO_SPACE, advice });
}

/** Checks memory and disk space before processes are started. @throws CliError where there is too little */
export function checkCapacity(workload: Workload, extraDiskBytes: number): void {
  const { members, byteLength } = workload;
  const what = `${members} members with ${formatBytes(byteLength)} each`;
  const memory = { needed: neededMemory(workload), available: availableMemory() };
  if (memory.available < memory.needed) {
    throw tooLittle(
      'ERR_RDMC_OUT_OF_MEMORY',
      `${what} need ${formatBytes(memory.needed)} of memory, but ${formatBytes(memory.available)} are available`,
      'use a smaller --size or --file, or fewer --members',
    );
  }
  const disk = { needed: neededDisk(workload) + extraDiskBytes, available: freeDiskSpace() };
  if (disk.available < disk.needed) {
    throw tooLittle(
      'ENOSPC',
      `the received files need ${formatBytes(disk.needed)} in ${tmpdir()}, but ${formatBytes(disk.available)} are free`,
      'free some space, set TMPDIR to a larger file system, or use a smaller --size',
    );
  }
}
