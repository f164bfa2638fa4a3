import type { Mesh } from '@rdmc/mesh';
import type { Device, MemoryRegion, ProtectionDomain } from '@rdmc/verbs';
import type { BufferSlabs } from './buffer-slabs.js';
import type { GroupDirectory } from './group-directory.js';
import type { Verdicts } from './verdicts.js';
import type { WorkerLink } from './worker-link.js';

/** The parts of the node that a group uses. */
export interface GroupEnvironment {
  readonly memberId: number;
  readonly mesh: Mesh;
  readonly directory: GroupDirectory;
  readonly verdicts: Verdicts;
  readonly link: WorkerLink;
  readonly device: Device;
  readonly protectionDomain: ProtectionDomain;
  /** The first-block buffers of the node's groups. */
  readonly slabs: BufferSlabs;
  /** Whether the port of the device is down now. */
  portIsDown(): boolean;
  /** Memory of the node's pool. */
  allocate(byteLength: number, options?: { signal?: AbortSignal }): Promise<MemoryRegion>;
  /** The same; its pages are not faulted in yet. */
  allocateUnpopulated(byteLength: number, signal?: AbortSignal): Promise<MemoryRegion>;
  /** Whether a region came from `allocate`. */
  allocated(region: MemoryRegion): boolean;
}

/** A group's number at this node, and its counters. */
export interface GroupSlot {
  readonly number: number;
  readonly counters: Float64Array;
  release(): void;
}
