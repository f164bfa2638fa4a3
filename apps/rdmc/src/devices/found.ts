import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const INFINIBAND_CLASS = '/sys/class/infiniband';
const LIBRARY_FOLDERS = [
  '/usr/lib/x86_64-linux-gnu',
  '/usr/lib/aarch64-linux-gnu',
  '/usr/lib64',
  '/usr/lib',
  '/usr/local/lib',
];

/** An RDMA device of this machine that this version only reports. */
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

/** RDMA devices the kernel knows. */
export function findKernelDevices(folder = INFINIBAND_CLASS): FoundDevice[] {
  return entries(folder).map((name) => {
    const port = join(folder, name, 'ports', '1');
    return { name, linkLayer: text(join(port, 'link_layer')), state: text(join(port, 'state')) };
  });
}

/** Path of libibverbs, if it is in one of the usual folders. */
export function findVerbsLibrary(): string | undefined {
  for (const folder of LIBRARY_FOLDERS) {
    const name = entries(folder).find((entry) => entry.startsWith('libibverbs.so'));
    if (name) return join(folder, name);
  }
  return undefined;
}
