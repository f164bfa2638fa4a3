/** What a cluster says of itself: the document of `kv admin status --json`. Numbers of logs are text: they have 64 bits. */
import {
  choice,
  finite,
  flag,
  list,
  nullable,
  openRecord,
  type Shaped,
  text,
  tuple,
  whole,
  withDefault,
} from '@rdmc/common/shapes';
import { SLOTS } from '../limits.js';

const MIB = 1024 * 1024;
/** A log has so many segments open at a time. */
const OPEN_SEGMENTS = 2;
const slot = whole(0, SLOTS - 1);
const ranges = list(tuple(slot, slot));

/** A backup's disk. It grants as many buffers as the slower of both speeds writes within the time. */
const diskFacts = openRecord({
  /** Measured when the server started. */
  bytesPerSecond: finite(0),
  /** Of the last segments that were written to files; null: there were too few. */
  flushedBytesPerSecond: nullable(finite(0)),
  holdSeconds: finite(0),
  granted: whole(),
  /** `--buffers`. */
  configured: whole(),
});

/** Segments of other servers that could not be written to files, and are tried again. */
const flushFailure = openRecord({
  /** Of the file system, as ENOSPC. */
  code: text(),
  reason: text(),
  segments: whole(),
  /** Writes that failed, and the time since the first of them. */
  attempts: whole(),
  seconds: finite(0),
});

/** The release of a process, and the levels that it speaks: see `Levels` of @rdmc/common. */
const release = {
  version: withDefault(text(), '?'),
  levels: withDefault(nullable(openRecord({ least: whole(1), most: whole(1) })), null),
} as const;

/** What a server says of itself. */
export const serverFacts = openRecord({
  ...release,
  /** The server's own log. */
  log: text(),
  processId: whole(),
  /** Keys in the slots that it serves; those that expired and were not found yet included. */
  keys: whole(),
  /** Bytes of the log that are in use, and of all of its segments. */
  bytes: whole(),
  logBytes: whole(),
  /** Backups of every write. */
  replicas: whole(),
  /** Whether it may answer reads now. */
  lease: flag,
  /** Epoch of its slot table. */
  epoch: whole(),
  clients: whole(),
  /** Appends that not all backups have acknowledged. */
  waitingAppends: whole(),
  /** What it keeps for other servers; null without replication. */
  backup: nullable(
    openRecord({
      logs: list(text()),
      buffersUsed: whole(),
      /** Buffers that it grants. */
      buffers: whole(),
      /** The measurement that this number follows from; null without `--power-hold-seconds`. */
      disk: withDefault(nullable(diskFacts), null),
      /** Null: every closed segment is in its file, or about to be written. */
      flushFailure: withDefault(nullable(flushFailure), null),
    }),
  ),
});
export type ServerFacts = Shaped<typeof serverFacts>;

/** What the coordinator says. */
export const coordinatorFacts = openRecord({
  ...release,
  /** The level of the cluster: files have its formats. Null: not known. */
  level: withDefault(nullable(whole(1)), null),
  /** Rises with each start of a coordinator. */
  run: whole(),
  /** Slots that are handed over between servers that run. */
  moves: openRecord({
    /** Until each server has its share, or a hand-over failed for good. */
    isRunning: flag,
    /** Slots that were handed over in this run of the coordinator. */
    moved: whole(),
    /** Slots that are not at the servers that will have them. Null: not known, because a server with slots is not here. */
    left: nullable(whole()),
    /** Of the last hand-over, where it failed. While `isRunning` it is tried again. */
    failure: nullable(openRecord({ code: text(), reason: text() })),
  }),
  /** Servers that are to go: they must not have slots or replicas. */
  drained: list(whole()),
  /** Servers that were removed, and that may have come back. */
  removed: list(whole()),
  /** Logs that have slots, and whose server is not there. */
  recoveries: list(
    openRecord({
      log: text(),
      server: whole(),
      slots: ranges,
      /** Whether other servers take them over at this moment. */
      isUnderWay: flag,
    }),
  ),
});
export type CoordinatorFacts = Shaped<typeof coordinatorFacts>;

/**
 * silent: connected, and it does not answer. failed: its connection ended without its leave. absent: it has left, or has not
 * joined.
 */
const state = choice(['connected', 'silent', 'failed', 'absent']);

const serverStatus = openRecord({
  server: whole(),
  state,
  /** Rises with each process of the server; 0: not known. */
  incarnation: whole(),
  /** Where clients connect; of a server that failed, where they did. Null: that is not known, as of an absent server. */
  address: nullable(openRecord({ host: text(), port: whole() })),
  /** That it serves. */
  slots: ranges,
  /** Null: it did not answer. */
  facts: nullable(serverFacts),
});
export type ServerStatus = Shaped<typeof serverStatus>;

export const clusterStatus = openRecord({
  /** The server that was asked: it says which servers are connected. */
  askedServer: whole(),
  /** Of its slot table. */
  epoch: whole(),
  coordinator: openRecord({
    state,
    /** The one that leads: 0, the first of the list of members, or the number of a standby. Null: none is known. */
    standby: nullable(whole()),
    /** Null: it did not answer. */
    facts: nullable(coordinatorFacts),
  }),
  /** The other coordinators that this server knows: 0 is the first of the list of members, others are standbys. */
  standbys: list(openRecord({ standby: whole(), state })),
  servers: list(serverStatus),
  /** Slots without a server. */
  unserved: ranges,
  /** Whether nothing is in `problems`. */
  isHealthy: flag,
  problems: list(text()),
});
export type ClusterStatus = Shaped<typeof clusterStatus>;

/** The number of slots in ranges. */
export function slotCount(of: readonly (readonly [from: number, to: number])[]): number {
  return of.reduce((sum, [from, to]) => sum + to - from + 1, 0);
}

/** What an operator should know of, one line each. */
export function problemsOf({
  epoch,
  coordinator,
  servers,
  unserved,
}: Pick<ClusterStatus, 'epoch' | 'coordinator' | 'servers' | 'unserved'>): string[] {
  const problems: string[] = [];
  if (unserved.length > 0) problems.push(`${slotCount(unserved)} slots have no server`);
  if (coordinator.facts === null) problems.push(`the coordinator ${how(coordinator.state)}`);
  for (const { log, server, slots, isUnderWay } of coordinator.facts?.recoveries ?? []) {
    const what = isUnderWay ? 'is being recovered' : 'waits for its server, or for its recovery';
    problems.push(`the log of server ${server} (number ${log}, ${slotCount(slots)} slots) ${what}`);
  }
  problems.push(...stoppedMoves(coordinator), ...tooFewServers({ coordinator, servers }));
  for (const { server, state, facts } of servers) {
    if (facts === null) problems.push(`server ${server} ${how(state)}`);
    else if (!facts.lease) problems.push(`server ${server} has no lease: it does not answer reads`);
    else if (facts.epoch < epoch) problems.push(`server ${server} has an older slot table`);
    const disk = facts?.backup?.disk;
    if (disk && disk.granted < OPEN_SEGMENTS) problems.push(slowDisk(server, disk));
    const failure = facts?.backup?.flushFailure;
    if (failure) problems.push(failedFlushes(server, failure));
  }
  return problems;
}

/** Nothing is tried again: an operator must act first. */
function stoppedMoves({ facts }: ClusterStatus['coordinator']): string[] {
  const { isRunning, failure } = facts?.moves ?? { isRunning: false, failure: null };
  return isRunning || failure === null
    ? []
    : [`slots do not move any more: ${failure.code}: ${failure.reason}`];
}

/** A server that is connected may have replicas of the others' logs, unless it is to go. */
function tooFewServers({ coordinator, servers }: Pick<ClusterStatus, 'coordinator' | 'servers'>): string[] {
  const drained = coordinator.facts?.drained ?? [];
  const here = servers.filter(({ state, server }) => isConnected(state) && !drained.includes(server)).length;
  const replicas = Math.max(0, ...servers.map(({ facts }) => facts?.replicas ?? 0));
  if (here > replicas) return [];
  return [
    `there are too few servers: ${here}, without those that are to go; ${replicas + 1} are needed, because each log has ` +
      `${replicas} backups at other servers`,
  ];
}

function isConnected(state: ServerStatus['state']): boolean {
  return state === 'connected' || state === 'silent';
}

function slowDisk(
  server: number,
  { granted, holdSeconds, bytesPerSecond, flushedBytesPerSecond }: Shaped<typeof diskFacts>,
): string {
  const speed = Math.min(bytesPerSecond, flushedBytesPerSecond ?? bytesPerSecond) / MIB;
  return (
    `server ${server} grants ${granted} buffers to other servers: its disk writes ${speed.toFixed(1)} MiB/s, and its power ` +
    `supply holds up for ${holdSeconds} s`
  );
}

function failedFlushes(
  server: number,
  { code, reason, segments, attempts, seconds }: Shaped<typeof flushFailure>,
): string {
  const isFull = code === 'ENOSPC' || code === 'EDQUOT';
  const advice = isFull
    ? 'free space on the disk of its --directory'
    : `repair its --directory, or drain it: kv admin drain ${server}`;
  return (
    `server ${server} cannot write ${segments} segments of other servers to files, for ${Math.floor(seconds)} s ` +
    `(${attempts} attempts): ${advice} (${code}: ${reason})`
  );
}

function how(state: ServerStatus['state']): string {
  if (state === 'absent') return 'is absent: it has left, or has not joined';
  return state === 'failed' ? 'is not connected' : 'does not answer';
}
