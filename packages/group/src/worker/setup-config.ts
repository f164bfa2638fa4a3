import type { MemoryRegion } from '@rdmc/verbs';
import { HEADER_BYTES } from '../constants.js';
import { buffersOffset } from '../group-memory.js';
import type { GroupSetup } from '../records.js';
import type { GroupTrace } from './group-trace.js';
import type { MachineConfig } from './machine-config.js';

/** The configuration of a live group's machine. `region` is the group's memory: see `group-memory.ts`. */
export function setupConfig(
  setup: GroupSetup,
  region: MemoryRegion,
  counters: Float64Array,
  trace?: GroupTrace,
): MachineConfig {
  const { neighbours, firstPair, receiveWindow, sendWindow, maxBlockBytes } = setup;
  const { algorithm, nodes, rank, racks, small } = setup;
  const headerBytes = (receiveWindow + sendWindow) * HEADER_BYTES;
  const headers = region.view(0, headerBytes);
  return {
    topology: { algorithm, nodes, rank, racks },
    ...{ neighbours, firstPair, receiveWindow, sendWindow, maxBlockBytes, counters, trace },
    skipsNumbers: small !== null,
    buffersAddress: region.address + buffersOffset(setup),
    buffersLkey: region.lkey,
    headers: new Uint32Array(headers.buffer, headers.byteOffset, headerBytes / 4),
  };
}
