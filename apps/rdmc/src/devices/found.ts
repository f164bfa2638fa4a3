import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const INFINIBAND_CLASS = '/sys/class/infiniband';
const DEVICE_FILES = '/dev/infiniband';

/** An RDMA device of the kernel, whether or not libibverbs can use it. */
export interface FoundDevice {
  readonly name: string;
  /** `InfiniBand`, `Ethernet` (RoCE), …, or `unknown`. */
  readonly linkLayer: string;
  readonly state: string;
}

function entries(folder: string): string[] {
  try {
    return readdirSync(folder).sort();
  } catch {
    return [];
  }
}

function text(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return 'unknown';
  }
}

/** The kernel's RDMA devices. */
export function findKernelDevices(folder = INFINIBAND_CLASS): FoundDevice[] {
  return entries(folder).map((name) => {
    const port = join(folder, name, 'ports', '1');
    return { name, linkLayer: text(join(port, 'link_layer')), state: text(join(port, 'state')) };
  });
}

/** Whether the kernel has device files for programs. */
export function hasVerbsFiles(folder = DEVICE_FILES): boolean {
  return entries(folder).some((name) => name.startsWith('uverbs'));
}
