/*
 * Commands and events between the application's side and `worker/`. The application's side assigns the numbers of
 * pairs, channels, targets and keys, and uses none of them twice in a process.
 *
 * A *pair* is a queue pair with one member. A *channel* is an open segment of a primary, with one *target* per
 * replica. A *key* names a buffer to which the backup's worker copies in the RPC scheme.
 */
import { call, json, numbers, post, recordTable } from '@rdmc/dataplane';
import type { LocalKey, QueuePairAddress, RemoteKey, RemoteMemory, ScatterGatherEntry } from '@rdmc/verbs';

export const PROTOCOL_NAME = 'tailwind';

export const tailwindRecords = recordTable({
  commands: {
    createPair: call(json<PairSetup>(), json<QueuePairAddress>()),
    /** Answers with the transport, such as 'shm' or 'tcp', once the pair is connected. */
    connect: call(json<PairConnect>(), json<string>()),
    /**
     * Targets on the pair are lost at once. Answers when the device does not use any of the pair's memory any more.
     */
    drop: call(numbers<[pair: number]>(1)),
    openChannel: call(json<ChannelSetup>()),
    append: post(numbers<[channel: number, sequence: number, offset: number, byteLength: number]>(4)),
    /** The new target gets everything that was appended so far. */
    replace: post(json<TargetReplacement>()),
    /** The further target gets everything, while appends are acknowledged without it. */
    join: post(json<JoiningTarget>()),
    /** Appends do not go to the target any more, and do not wait for it. */
    remove: post(numbers<[channel: number, target: number]>(2)),
    /** Acknowledges appends again. */
    resume: post(numbers<[channel: number]>(1)),
    endChannel: call(numbers<[channel: number]>(1)),
    /** Answers once the bytes were read. */
    read: call(json<ReadSetup>()),
    admit: call(numbers<[pair: number, key: number, address: number, byteLength: number]>(4)),
    /** Nothing is copied to this buffer afterwards. */
    evict: call(numbers<[key: number]>(1)),
  },
  events: {
    /** All targets have everything up to this sequence number. */
    acknowledged: numbers<[channel: number, sequence: number]>(2),
    /** Nothing is acknowledged until `resume`, unless the target was joining. */
    lost: json<LostTarget>(),
    /** The target has what was appended before its `replace`, or everything that was acknowledged since its `join`. */
    caughtUp: numbers<[channel: number, target: number]>(2),
  },
});
export type TailwindRecords = typeof tailwindRecords;

/** One-sided writes, or the scheme for comparison, in which the backup's processor copies and answers. */
export type ReplicationMode = 'one-sided' | 'rpc';

export interface PairSetup {
  readonly pair: number;
  readonly side: 'primary' | 'backup';
  readonly mode: ReplicationMode;
}

export interface PairConnect {
  readonly pair: number;
  readonly address: QueuePairAddress;
  readonly retryTimeoutMs: number;
}

/** Queue pair, memory and key for one replica of a channel's segment. */
export interface TargetSetup {
  readonly target: number;
  readonly pair: number;
  /** Id of the backup, for traces. */
  readonly member: number;
  readonly address: number;
  readonly rkey: RemoteKey;
  /** In the RPC scheme. */
  readonly key: number;
}

export interface ChannelSetup {
  readonly channel: number;
  /** The segment's memory here. */
  readonly address: number;
  readonly lkey: LocalKey;
  readonly targets: readonly TargetSetup[];
  readonly traced: TracedSegment;
}

/** The low 32 bits of ids, for traces. */
export interface TracedSegment {
  readonly log: number;
  readonly segment: number;
}

export interface TargetReplacement {
  readonly channel: number;
  readonly lost: number;
  readonly target: TargetSetup;
}

export interface JoiningTarget {
  readonly channel: number;
  readonly target: TargetSetup;
}

export interface ReadSetup {
  readonly pair: number;
  /** Local destination and length of the read. */
  readonly local: ScatterGatherEntry;
  readonly remote: RemoteMemory;
}

export interface LostTarget {
  readonly channel: number;
  readonly target: number;
  readonly reason: string;
}
