import { attachRegion, type Device, type MemoryRegion } from '@rdmc/verbs';

/** A region's handle is its key: the index of its slot in 14 bits, and above it the generation of the slot. */
const INDICES = 2 ** 14;
/** The lowest free slot is used next, so a test needs few slots, each of which it may use again often. */
const MOST_INDICES = 96;
const MOST_USES = 1024;

/** The region of a device that has this length: the application's view of what peers reach. */
export function regionOfLength(device: Device, byteLength: number): MemoryRegion {
  const last = latestGeneration(device);
  for (let generation = last + MOST_INDICES; generation > last - MOST_USES; generation -= 1) {
    for (let index = 0; index < MOST_INDICES; index += 1) {
      const region = regionOf(device, generation * INDICES + index);
      if (region?.byteLength === byteLength) return region;
    }
  }
  throw new Error(`no region of ${byteLength} bytes`);
}

function regionOf(device: Device, handle: number): MemoryRegion | undefined {
  try {
    return attachRegion(device, handle);
  } catch {
    return undefined;
  }
}

/** All slots of a device begin with the same generation; each use of a slot increments it. */
function latestGeneration(device: Device): number {
  const domain = device.allocateProtectionDomain();
  const probe = domain.register(new Uint8Array(1));
  const generation = Math.floor(probe.handle / INDICES);
  probe.close();
  domain.close();
  return generation;
}
