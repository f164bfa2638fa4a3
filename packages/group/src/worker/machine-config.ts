import type { GroupTrace } from './group-trace.js';
import type { Plans, Topology } from './plans.js';
import type { LoopBackPort, RelayPort } from './port.js';

/** The relays of a member that its device executes. */
export interface DeviceRelays {
  /** Relays that wait for their blocks, at most: 1 to `MAX_WINDOW`. */
  readonly ahead: number;
  readonly port: RelayPort;
}

/** The configuration of a member's state machine; addresses are those of registered memory. */
export interface MachineConfig {
  /** The arguments of the schedule without the number of blocks, and this member's rank. */
  readonly topology: Topology;
  /** Ranks of the neighbours; a `pair` is an index of this list. */
  readonly neighbours: readonly number[];
  /** Of this topology and these neighbours, if other groups share them; default: the machine makes its own. */
  readonly plans?: Plans | undefined;
  /** The neighbour that sends every first block; −1 at the root. */
  readonly firstPair: number;
  /** Receives posted ahead, over all neighbours together: 1 to `MAX_WINDOW`. */
  readonly receiveWindow: number;
  /** The most sends that have not completed: 1 to `MAX_WINDOW`. */
  readonly sendWindow: number;
  /**
   * The most receives that are announced and not filled, over all neighbours, in the order of the schedule. Live groups
   * announce each posted receive; the implementation of the RDMC paper announced one.
   */
  readonly readyTokens?: number | undefined;
  /** The device relays blocks; default: this member's worker does. The same at all members. */
  readonly relays?: DeviceRelays | undefined;
  /** For messages whose memory the processor cannot access; default: there are none. */
  readonly loopBack?: LoopBackPort | undefined;
  /** Messages may have gaps between their numbers, which are those of small messages; default: no. */
  readonly skipsNumbers?: boolean | undefined;
  /** Largest block of the group. */
  readonly maxBlockBytes: number;
  /** Headers: first those of the receive slots (`receiveSlots` of `group-memory.ts`), then those of the send slots. */
  readonly headers: Uint32Array;
  /** The counters of the group, as of `createCounters`; the machine adds to them. */
  readonly counters: Float64Array;
  /** Records what the machine does; default: no trace. */
  readonly trace?: GroupTrace | undefined;
}
