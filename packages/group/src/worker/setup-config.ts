import type { MemoryRegion } from '@rdmc/verbs';
import { groupMemoryBytes } from '../group-memory.js';
import type { GroupSetup } from '../records.js';
import type { FirstBuffers } from './first-buffers.js';
import type { GroupTrace } from './group-trace.js';
import type { MachineConfig } from './machine-config.js';
import type { LoopBackPort, RelayPort } from './port.js';

/** What the machine calls, beside the neighbours. */
interface MachineParts {
  readonly port: RelayPort & LoopBackPort;
  /** Those of the node, of the size `setup.bufferBytes`. */
  readonly buffers: FirstBuffers;
  readonly trace: GroupTrace | undefined;
}

/** The configuration of a live group's machine. `region` is the group's memory: see `group-memory.ts`. */
export function setupConfig(
  setup: GroupSetup,
  region: MemoryRegion,
  counters: Float64Array,
  { port, buffers, trace }: MachineParts,
): MachineConfig {
  const { neighbours, firstPair, receiveWindow, sendWindow, relaysAhead, maxBlockBytes } = setup;
  const { algorithm, nodes, rank, racks, small } = setup;
  const headerBytes = groupMemoryBytes(setup);
  const headers = region.view(0, headerBytes);
  return {
    topology: { algorithm, nodes, rank, racks },
    ...{ neighbours, firstPair, receiveWindow, sendWindow, maxBlockBytes, counters, buffers, trace },
    relays: relaysAhead > 0 ? { ahead: relaysAhead, port } : undefined,
    loopBack: port,
    skipsNumbers: small !== null,
    headers: new Uint32Array(headers.buffer, headers.byteOffset, headerBytes / 4),
  };
}
