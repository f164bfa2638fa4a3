import type { MemoryRegion } from '@rdmc/verbs';
import { groupMemoryBytes } from '../group-memory.js';
import type { GroupSetup } from '../records.js';
import type { GroupTrace } from './group-trace.js';
import type { MachineConfig } from './machine-config.js';
import type { LoopBackPort, RelayPort } from './port.js';

/** The configuration of a live group's machine. `region` is the group's memory: see `group-memory.ts`. */
export function setupConfig(
  setup: GroupSetup,
  region: MemoryRegion,
  counters: Float64Array,
  port: RelayPort & LoopBackPort,
  trace?: GroupTrace,
): MachineConfig {
  const { neighbours, firstPair, receiveWindow, sendWindow, relaysAhead, maxBlockBytes } = setup;
  const { algorithm, nodes, rank, racks, small } = setup;
  const headerBytes = groupMemoryBytes(setup);
  const headers = region.view(0, headerBytes);
  return {
    topology: { algorithm, nodes, rank, racks },
    ...{ neighbours, firstPair, receiveWindow, sendWindow, maxBlockBytes, counters, trace },
    relays: relaysAhead > 0 ? { ahead: relaysAhead, port } : undefined,
    loopBack: port,
    skipsNumbers: small !== null,
    headers: new Uint32Array(headers.buffer, headers.byteOffset, headerBytes / 4),
  };
}
