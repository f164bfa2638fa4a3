/*
 * The commands and events between the application's thread and the worker about groups. `group` is the number of the
 * group at this node, not its id. `pair` is an index of the group's neighbours.
 */
import { call, json, numbers, post, recordTable } from '@rdmc/dataplane';
import type { Algorithm, RackId } from '@rdmc/schedule';
import type { LocalKey, QueuePairAddress } from '@rdmc/verbs';
import type { RingUnits } from './small/layout.js';

export const PROTOCOL_NAME = 'group';

/** In the command `place`: the processor copies the first block. */
export const NO_RKEY = -1;

export const groupRecords = recordTable({
  commands: {
    /** Memory for first-block buffers, before a group that needs it starts. */
    addBuffers: call(json<SlabSetup>()),
    /** No group uses buffers of that size any more. */
    dropBuffers: call(numbers<[bufferBytes: number]>(1)),
    open: call(json<GroupSetup>()),
    createPair: call(json<{ readonly group: number; readonly pair: number }>(), json<PairAddress>()),
    /** Answers with the transport, such as 'shm' or 'tcp', when the pair is connected. */
    connect: call(
      json<{ readonly group: number; readonly pair: number; readonly address: PairAddress }>(),
      json<string>(),
    ),
    /** With the windows and the size of a first-block buffer, which depend on the transports. */
    start: call(numbers<[group: number, sendWindow: number, readyWindow: number, bufferBytes: number]>(4)),
    send: post(
      numbers<
        [
          group: number,
          message: number,
          address: number,
          byteLength: number,
          lkey: LocalKey,
          blockBytes: number,
        ]
      >(6),
    ),
    /** Memory for a message that the event `incoming` announced; `rkey` is NO_RKEY for memory with host access. */
    place: post(numbers<[group: number, message: number, address: number, lkey: LocalKey, rkey: number]>(5)),
    /** The application does not need that slot of memory ahead any more. */
    releaseSlot: post(numbers<[group: number, slot: number]>(2)),
    /** The application closes the group: messages do not wait for slots any more. */
    liftSlots: post(numbers<[group: number]>(1)),
    /** Creates the queue pair of a link of the small-message path. */
    createSmall: call(json<{ readonly group: number; readonly link: number }>(), json<QueuePairAddress>()),
    connectSmall: call(
      json<{ readonly group: number; readonly link: number; readonly address: SmallAddress }>(),
      json<string>(),
    ),
    /** The full ring of a small-message path. A group that has ended does not take it. */
    growSmall: call(json<GrowSmall>()),
    /** The application changed the control words of the small-message path, drawn in `small/layout.ts`. */
    kickSmall: post(numbers<[group: number]>(1)),
    /** Creates the queue pair of a link of the table, drawn in `stable/table-layout.ts`. */
    createTable: call(json<{ readonly group: number; readonly link: number }>(), json<QueuePairAddress>()),
    connectTable: call(
      json<{ readonly group: number; readonly link: number; readonly address: TableAddress }>(),
      json<string>(),
    ),
    /** The application changed this member's row. */
    kickTable: post(numbers<[group: number]>(1)),
    /** Answers when the others have this member's row, except for those at the links in the set `skipped`. */
    settleTable: call(numbers<[group: number, skipped: number]>(2)),
    /**
     * Answers with the neighbour whose queue pair broke first where the device broke that of `pair`, because relays waited for
     * its blocks; null: the queue pair of `pair` works. Troubles that the completions so far show are reported first.
     */
    brokenBehind: call(json<{ readonly group: number; readonly pair: number }>(), json<number | null>()),
    /** Answers when the queue pairs are flushed and closed; the device does not use memory of the group any more. */
    abort: call(numbers<[group: number]>(1)),
  },
  events: {
    incoming: numbers<[group: number, message: number, byteLength: number]>(3),
    finished: numbers<[group: number, message: number]>(2),
    /** As `finished`, for a message in a slot of memory ahead, which was not announced. */
    stored: numbers<[group: number, message: number, slot: number, byteLength: number]>(4),
    /** The small-message path has what the application waits for: entries, or room. */
    small: numbers<[group: number]>(1),
    /** Other members have changed their rows in the table. */
    table: numbers<[group: number]>(1),
    /** The group's worker side has stopped, or a link of the table is broken. */
    trouble: json<Trouble>(),
  },
});
export type GroupRecords = typeof groupRecords;

/** The worker's description of a group. */
export interface GroupSetup {
  readonly group: number;
  /** For traces: the id of the group, and those of its members, by rank. */
  readonly id: number;
  readonly members: readonly number[];
  readonly algorithm: Algorithm;
  readonly nodes: number;
  readonly rank: number;
  readonly racks: readonly RackId[] | undefined;
  /** Ranks; a `pair` is an index of this list. */
  readonly neighbours: readonly number[];
  readonly firstPair: number;
  readonly receiveWindow: number;
  /** The most sends at once; `start` may lower it. */
  readonly sendWindow: number;
  /** Relays that wait in the device for their blocks, at most; 0: the worker relays. */
  readonly relaysAhead: number;
  readonly retryTimeoutMs: number;
  /** Of `ConnectOptions`. */
  readonly weight: number;
  readonly trafficClass: number;
  readonly serviceLevel: number;
  readonly maxBlockBytes: number;
  /** Region for headers, laid out in `group-memory.ts`. */
  readonly region: number;
  /** Memory ahead, at a receiver with the option `receive`. */
  readonly slots: SlotSetup | null;
  readonly small: SmallSetup | null;
  /** In place of `small`, in a group of many senders. */
  readonly rings: RingsSetup | null;
  /** The table of a group with stable delivery. */
  readonly table: TableSetup | null;
}

/** Adjacent first-block buffers. */
export interface SlabSetup {
  readonly bufferBytes: number;
  /** Handle of the region. */
  readonly region: number;
  readonly buffers: number;
}

/** The table, drawn in `stable/table-layout.ts`. */
export interface TableSetup {
  /** Handle of the region with this member's row. */
  readonly own: number;
  /** Queue pairs of this member. */
  readonly links: number;
  /** Senders of the group. */
  readonly senders: number;
}

/** Where a member writes its row. */
export interface RowAddress {
  readonly address: number;
  readonly rkey: number;
}

/** What the member at the other end of a link of the table needs. */
export interface TableAddress {
  readonly queue: QueuePairAddress;
  readonly row: RowAddress;
}

/** The small-message path, drawn in `small/layout.ts`. */
export interface SmallSetup {
  /** Handles of the regions; `ring`: the first ring. */
  readonly control: number;
  readonly ring: number;
  readonly units: RingUnits;
  /** Queue pairs of this member. */
  readonly links: number;
}

/** The rings of a member of a group of many senders. Links are counted over all of them, in this order. */
export interface RingsSetup {
  /** This member's own ring, with a link to each other member; null: it does not send. */
  readonly own: SmallSetup | null;
  /** Handle of the control words of this member as a receiver of its own messages; null: it does not receive them. */
  readonly self: number | null;
  /** The rings into which the other senders write, each with one link. */
  readonly from: readonly SmallSetup[];
  /** Ids of the members at the other ends, by link. */
  readonly peers: readonly number[];
}

/** What a member of a group of many senders needs in order to connect its links to another one. */
export interface RingAddresses {
  /** The sender's end of the link on which the member that gives the address sends. */
  readonly out: SmallAddress | null;
  /** The receiver's end of the link on which that member receives. */
  readonly in: SmallAddress | null;
}

/** What the member at the other end of a link needs. */
export interface SmallAddress {
  readonly queue: QueuePairAddress;
  /** A receiver's first ring. */
  readonly ring: RingAddress | null;
}

/** A ring of a receiver. */
export interface RingAddress {
  readonly address: number;
  readonly rkey: number;
}

/** The full ring of a small-message path. */
export interface GrowSmall {
  readonly group: number;
  /** A link of the path. */
  readonly link: number;
  /** Handle of the region. */
  readonly ring: number;
  /** Those of the members to which this one writes, by link. */
  readonly addresses: readonly RingAddress[];
}

/** Memory ahead, drawn in `receive-memory.ts`. */
export interface SlotSetup {
  /** Handle of the region. */
  readonly region: number;
  readonly slots: number;
  /** The largest message that gets a slot. */
  readonly slotBytes: number;
  readonly stride: number;
}

/** The addresses of the queue pairs for one neighbour. */
export interface PairAddress {
  readonly data: QueuePairAddress;
  readonly control: QueuePairAddress;
}

/** The failure of a member whose own RDMA device was removed. */
export const DEVICE_REMOVED = { code: 'ERR_RDMC_DEVICE_REMOVED', reason: 'its RDMA device is gone' } as const;

/** The reason why a group's worker side stopped. */
export interface Trouble {
  readonly group: number;
  /**
   * The neighbour that is concerned; behind all neighbours the links for small messages, and behind these the link of the
   * table; −1: this member itself.
   */
  readonly pair: number;
  /**
   * `flushed`: a queue pair is in the error state, and the completion does not show the cause. `own`: this member's own
   * device could not send. `copy`: neither the processor nor a loop-back WRITE could copy to the region that `incoming` gave.
   * `relayed`: a block breaks the protocol, and the neighbour's device may have sent it on as it came.
   */
  readonly kind: 'queue-pair' | 'flushed' | 'own' | 'protocol' | 'relayed' | 'post' | 'device' | 'copy';
  readonly code: string;
  readonly reason: string;
}
