import type {
  AnnounceAt,
  FreeSlots,
  RequesterMachine,
  RequesterMemory,
} from '../../src/machine/requester-machine.js';
import type { Deliveries, ResponderMachine, ResponderMemory } from '../../src/machine/responder-machine.js';

/** The variant to check: the protocol, or one of its wrong variants. */
export interface Setting {
  readonly slots: number;
  readonly messages: number;
  readonly mode: 'pull' | 'push' | 'per-request';
  /** How often the connection may break. */
  readonly losses: number;
  /** The device places a later WRITE after an earlier one of its queue pair (default true). */
  readonly ordersWrites?: boolean;
  readonly announceAt?: AnnounceAt;
  /** A push carries the words at the time when it is placed, not when it was posted. */
  readonly pushesLiveWords?: boolean;
  /** Outstanding pushes if they follow completions (default 1). */
  readonly pushes?: number;
  /** The end flag of a push is accepted although its total may not be placed yet. */
  readonly tornEnd?: boolean;
  /** Releases between two connections are not reported in the second (per-request). */
  readonly forgetsLateReleases?: boolean;
  /** Outstanding READs per direction (default 1). */
  readonly reads?: number;
  readonly releases?: number;
  /** The refresh rule; default `refreshLimit(slots, 0.5)`. */
  readonly refreshes?: (free: number) => boolean;
  /** The requester continues after a loss without the responder's barrier and account. */
  readonly carelessReconnect?: boolean;
  readonly requester?: new (memory: RequesterMemory, free: FreeSlots, state: Int32Array) => RequesterMachine;
  readonly responder?: new (
    memory: ResponderMemory,
    deliveries: Deliveries,
    state: Int32Array,
  ) => ResponderMachine;
}
