import type { MemoryRegion } from '@rdmc/verbs';
import { groupMemoryBytes } from '../group-memory.js';
import type { GroupSetup } from '../records.js';
import type { GroupTrace } from './group-trace.js';
import type { MachineConfig } from './machine-config.js';
import type { Plans, Topology } from './plans.js';
import type { LoopBackPort, RelayPort } from './port.js';

/** The arguments of the group's schedules. */
export function topologyOf({ algorithm, nodes, rank, racks }: GroupSetup): Topology {
  return { algorithm, nodes, rank, racks };
}

/** The configuration of a live group's machine. `region` is the group's memory: see `group-memory.ts`. */
export function setupConfig(
  setup: GroupSetup,
  region: MemoryRegion,
  { counters, plans }: { readonly counters: Float64Array; readonly plans: Plans },
  port: RelayPort & LoopBackPort,
  trace?: GroupTrace,
): MachineConfig {
  const { neighbours, firstPair, receiveWindow, sendWindow, relaysAhead, maxBlockBytes } = setup;
  const headerBytes = groupMemoryBytes(setup);
  const headers = region.view(0, headerBytes);
  return {
    topology: topologyOf(setup),
    ...{ neighbours, firstPair, receiveWindow, sendWindow, maxBlockBytes, counters, plans, trace },
    relays: relaysAhead > 0 ? { ahead: relaysAhead, port } : undefined,
    loopBack: port,
    skipsNumbers: setup.small !== null,
    headers: new Uint32Array(headers.buffer, headers.byteOffset, headerBytes / 4),
  };
}
